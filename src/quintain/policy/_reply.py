"""Read the replies of OpenAI-compatible completion endpoints, in the dialects that servers speak.

Log-probabilities come as ``token_logprobs`` (OpenAI, vLLM) or as ``content`` with token ids
(llama.cpp); ids come as ``token_ids`` too (vLLM). What a server leaves out stays empty.
"""

from __future__ import annotations

import msgspec

from quintain.errors import PolicyError
from quintain.policy._scripted import cut_at_stop
from quintain.types import Completion, Sampling, StopReason

__all__ = ["Reply", "read_completion", "read_reply"]

_REASONS = {"stop": StopReason.STOP, "length": StopReason.LENGTH}


class _Token(msgspec.Struct):
    logprob: float | None = None
    id: int | None = None


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None
    token_logprobs: list[float | None] | None = None


class _Choice(msgspec.Struct):
    text: str
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    token_ids: list[int] | None = None
    prompt_token_ids: list[int] | None = None


class _Usage(msgspec.Struct):
    completion_tokens: int | None = None


class Reply(msgspec.Struct):
    """The parts of a reply that matter here; servers send many more."""

    choices: list[_Choice]
    usage: _Usage | None = None


def read_reply(endpoint: str, content: bytes) -> Reply:
    """Decode the body of a reply; raises `PolicyError` for one that is not a completion."""
    try:
        reply = msgspec.json.decode(content, type=Reply)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # ValidationError is one
        raise PolicyError(
            f"{endpoint}: replied with something that is not a completion: {error}"
        ) from error
    if len(reply.choices) != 1:
        raise PolicyError(f"{endpoint}: replied with {len(reply.choices)} choices instead of one")
    return reply


def read_completion(
    endpoint: str, reply: Reply, sampling: Sampling, *, keep_logprobs: bool
) -> Completion:
    """Turn a reply into a completion; raises `PolicyError` when it ended in no known way."""
    choice = reply.choices[0]
    reason = _REASONS.get(choice.finish_reason or "")
    if reason is None:
        raise PolicyError(f"{endpoint}: the completion ended with {choice.finish_reason!r}")
    text, stopped = cut_at_stop(choice.text, sampling.stop)
    ids, logprobs = _tokens(choice)
    counted = reply.usage.completion_tokens if reply.usage else None
    if counted != len(ids):  # some servers leave out the stop text's tokens
        ids = ()
    if not keep_logprobs or len(logprobs) != len(ids):
        logprobs = ()
    return Completion(
        text=text,
        stop=StopReason.STOP if stopped else reason,
        prompt_token_ids=tuple(choice.prompt_token_ids or ()) if ids else (),
        token_ids_T=ids,
        logprobs_T=logprobs,
    )


def _tokens(choice: _Choice) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the ids and log-probabilities that the reply holds, either empty when incomplete."""
    found = choice.logprobs or _Logprobs()
    content = found.content or []
    ids = choice.token_ids or [token.id for token in content if token.id is not None]
    logprobs = found.token_logprobs or [token.logprob for token in content]
    known = [logprob for logprob in logprobs if logprob is not None]
    return tuple(ids), tuple(known) if len(known) == len(logprobs) else ()
