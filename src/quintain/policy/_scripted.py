"""Policies without weights: a function of the request, or a recording played back.

Deterministic: what comes back depends on the request alone. They know no tokens, so nothing can be
trained on what they write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quintain.errors import PolicyError
from quintain.ids import content_id
from quintain.policy._sampler import SampleRequest
from quintain.types import Completion, Policy, Sampling, StopReason

__all__ = ["RecordedSampler", "ScriptedSampler", "cut_at_stop", "noop_sampler", "oracle_sampler"]

Script = Callable[[SampleRequest], str]


def cut_at_stop(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """Cut the text before the first stop text; also say whether there was one."""
    ends = [text.find(stop) for stop in stops if stop and stop in text]
    return (text[: min(ends)], True) if ends else (text, False)


class ScriptedSampler:
    """Samples by calling a function of the request.

    ::

        ScriptedSampler(lambda request: "s[::-1]", name="always-reverse")

    What the script writes after a stop text is dropped, as it would be from a model. ``max_tokens``
    is not applied, because a script has no tokens.
    """

    def __init__(self, script: Script, name: str = "scripted", version: str = "0") -> None:
        self._script = script
        self._policy = Policy(name=name, version=version)

    @property
    def policy(self) -> Policy:
        """Return the script's name and version."""
        return self._policy

    async def sample(self, request: SampleRequest) -> Completion:
        """Run the script."""
        text, _ = cut_at_stop(self._script(request), request.sampling.stop)
        return Completion(text=text, stop=StopReason.STOP)


def oracle_sampler(answers: Mapping[str, str], name: str = "oracle") -> ScriptedSampler:
    """Answer from a table of framed prompt to text, for instance of gold answers.

    The sampler raises `PolicyError` for a prompt that is not in the table.
    """
    known = dict(answers)

    def answer(request: SampleRequest) -> str:
        if request.prompt not in known:
            raise PolicyError(f"{name} has no answer to the prompt {request.prompt[-60:]!r}")
        return known[request.prompt]

    return ScriptedSampler(answer, name=name)


def noop_sampler() -> ScriptedSampler:
    """Answer nothing, whatever is asked; no task may accept it."""
    return ScriptedSampler(lambda request: "", name="noop")


class RecordedSampler:
    """Plays back recorded completions, tokens and log-probabilities included."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._completions: dict[str, Completion] = {}

    @property
    def policy(self) -> Policy:
        """Return the policy that was recorded."""
        return self._policy

    def record(self, request: SampleRequest, completion: Completion) -> None:
        """Remember what was returned for a request."""
        self._completions[_key(request)] = completion

    async def sample(self, request: SampleRequest) -> Completion:
        """Return what was recorded; raises `PolicyError` when the request never was."""
        found = self._completions.get(_key(request))
        if found is None:
            raise PolicyError(
                f"no recording of seed {request.seed} for the prompt {request.prompt[-60:]!r}"
            )
        return found


def _key(request: SampleRequest) -> str:
    sampling: Sampling = request.sampling
    return content_id(
        request.prompt,
        request.seed,
        sampling.temperature,
        sampling.max_tokens,
        len(sampling.stop),
        *sampling.stop,
    )
