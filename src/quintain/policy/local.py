"""A sampler over a transformers model in this process.

Concurrent `sample` calls are gathered into batches and run in a worker thread, so that the event
loop goes on judging meanwhile; there is never more than one torch job of a sampler at a time.

Invariant: ``token_ids_T`` are the sampled tokens, stop text or end token included, and
``logprobs_T`` their log-probabilities under the distribution they were drawn from (0 when greedy).
Not guaranteed: that weights may change while a completion is being drawn. Change them, and
`LocalSampler.policy`, between phases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread

from quintain.errors import PolicyError
from quintain.policy._sampler import SampleRequest
from quintain.policy._scripted import cut_at_stop
from quintain.policy.local_generate import Row, generate
from quintain.types import Completion, Policy, StopReason

__all__ = ["LocalSampler"]

_LINGER_S = 0.005
"""How long an unfilled batch waits for company; small against one token of any useful model."""


@dataclass(slots=True, eq=False)
class _Ticket:
    """One `sample` call in the queue."""

    request: SampleRequest
    result: Completion | PolicyError | None = None


class LocalSampler:
    """Samples a causal language model by batches.

    ::

        model, tokenizer = tiny_model(texts, seed=0)
        sampler = LocalSampler(model, tokenizer, Policy(name="tiny", version="0"))
        completion = await sampler.sample(request)
    """

    def __init__(self, model: Any, tokenizer: Any, policy: Policy, *, batch_size: int = 64) -> None:
        """``batch_size`` bounds the rows of one batch, and with them the memory of its cache."""
        self._model = model
        self._tokenizer = tokenizer
        self._policy = policy
        self._batch_size = batch_size
        self._end_ids = _end_ids(model, tokenizer)
        self._longest = int(getattr(model.config, "max_position_embeddings", 0)) or None
        self._waiting: list[_Ticket] = []
        self._turn = anyio.Lock()
        self._threads = anyio.CapacityLimiter(1)

    @property
    def batch_size(self) -> int:
        """Return how many completions are drawn at once at most."""
        return self._batch_size

    @property
    def policy(self) -> Policy:
        """The weights being sampled; set it when they have changed, between phases."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        if self._waiting:
            raise RuntimeError("the policy changed while completions were being sampled")
        self._policy = policy

    async def sample(self, request: SampleRequest) -> Completion:
        """Complete one prompt, together with whatever else is waiting.

        Raises `PolicyError` for a prompt that the model cannot take, or when the model fails.
        """
        ticket = _Ticket(request)
        self._waiting.append(ticket)
        try:
            # The lock is fair, so its holder is the oldest caller without a result, and those it
            # serves are the next to get the lock.
            async with self._turn:
                if ticket.result is None:
                    await self._serve()
        finally:
            self._waiting.remove(ticket)
        if isinstance(ticket.result, Completion):
            return ticket.result
        raise ticket.result or PolicyError(f"{self._name}: the batch ended without a result")

    async def _serve(self) -> None:
        if self._open_tickets() < self._batch_size:
            await anyio.sleep(_LINGER_S)
        batch = [t for t in self._waiting if t.result is None][: self._batch_size]
        results = await anyio.to_thread.run_sync(
            self._complete, [t.request for t in batch], limiter=self._threads
        )
        for ticket, result in zip(batch, results, strict=True):
            ticket.result = result

    def _open_tickets(self) -> int:
        return sum(ticket.result is None for ticket in self._waiting)

    @property
    def _name(self) -> str:
        return f"local policy {self._policy.name}@{self._policy.version}"

    def _complete(self, requests: Sequence[SampleRequest]) -> list[Completion | PolicyError]:
        """Run one batch; called in the worker thread."""
        prepared = [self._row(request) for request in requests]
        was_training = self._model.training
        self._model.eval()
        try:
            rows = [row for row in prepared if isinstance(row, Row)]
            generate(self._model, rows, anyio.from_thread.check_cancelled)
        except (RuntimeError, MemoryError, FloatingPointError) as error:
            # Torch raises RuntimeError for lack of memory among other things.
            return [PolicyError(f"{self._name}: sampling failed: {error}") for _ in requests]
        finally:
            self._model.train(was_training)
        return [
            self._completion(row, request) if isinstance(row, Row) else row
            for row, request in zip(prepared, requests, strict=True)
        ]

    def _row(self, request: SampleRequest) -> Row | PolicyError:
        prompt_ids = tuple(self._tokenizer.encode(request.prompt))
        sampling = request.sampling
        if not prompt_ids:
            return PolicyError(f"{self._name}: the prompt has no tokens")
        if self._longest and len(prompt_ids) + sampling.max_tokens > self._longest:
            return PolicyError(
                f"{self._name}: {len(prompt_ids)} prompt tokens and {sampling.max_tokens} new ones "
                f"do not fit into the model's {self._longest} positions",
                hint="shorten the prompt or lower max_tokens",
            )
        return Row(
            prompt_ids=prompt_ids,
            temperature=sampling.temperature,
            max_tokens=sampling.max_tokens,
            seed=request.seed,
            ended=_ending(self._tokenizer, self._end_ids, sampling.stop),
        )

    def _completion(self, row: Row, request: SampleRequest) -> Completion:
        ids = row.token_ids
        body = ids[:-1] if ids and ids[-1] in self._end_ids else ids
        text, _ = cut_at_stop(_decode(self._tokenizer, body), request.sampling.stop)
        return Completion(
            text=text,
            stop=StopReason.STOP if row.stopped else StopReason.LENGTH,
            prompt_token_ids=row.prompt_ids,
            token_ids_T=tuple(ids),
            logprobs_T=tuple(row.logprobs),
        )


def _decode(tokenizer: Any, ids: Sequence[int]) -> str:
    text = tokenizer.decode(
        list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    return str(text)


def _ending(
    tokenizer: Any, end_ids: frozenset[int], stops: tuple[str, ...]
) -> Callable[[Sequence[int]], bool]:
    """Make the test of whether the last token ended a completion."""
    # A stop text of n bytes lies within the last n tokens once its last byte is there; one more
    # token keeps decoders that strip a leading space from touching it.
    window = max((len(stop.encode()) for stop in stops), default=0) + 1

    def ended(ids: Sequence[int]) -> bool:
        if ids[-1] in end_ids:
            return True
        return bool(stops) and cut_at_stop(_decode(tokenizer, ids[-window:]), stops)[1]

    return ended


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Collect the end tokens that the model's generation config and its tokenizer name."""
    config = getattr(model, "generation_config", None)
    named = getattr(config, "eos_token_id", None)
    ids = set(named if isinstance(named, list) else [named])
    ids.add(tokenizer.eos_token_id)
    return frozenset(int(i) for i in ids if i is not None)
