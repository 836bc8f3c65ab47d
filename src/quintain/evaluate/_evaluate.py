"""Measure one policy on one suite, through a rollout function that the caller brings.

It sees neither sandbox nor sampler, and training cannot import it. Tasks of the train split are
refused before anything is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quintain.errors import UserError
from quintain.evaluate._model import Evaluation
from quintain.evaluate._summarise import refuse_train, summarise
from quintain.types import Group, Task

__all__ = ["Rollout", "evaluate"]


class Rollout(Protocol):
    """Attempts every task ``samples`` times and returns one group a task."""

    async def __call__(
        self, tasks: Sequence[Task], *, phase: str, samples: int, temperature: float
    ) -> Sequence[Group]:
        """Roll out; ``phase`` becomes the phase of the trials' keys."""
        ...


async def evaluate(
    tasks: Sequence[Task],
    *,
    rollout: Rollout,
    suite: str = "held_out",
    phase: str = "eval",
    samples: int = 4,
    temperature: float = 1.0,
    greedy: bool = True,
) -> Evaluation:
    """Try every task once greedily and ``samples`` times at ``temperature``, and summarise.

    ``greedy=False`` or ``samples=0`` leaves that half out. Trials are keyed
    ``<phase>/greedy`` and ``<phase>/sampled``.
    Raises `UserError` for train tasks, before the first trial, and for an empty measurement.
    """
    refuse_train(tasks)
    if samples < 0 or not (greedy or samples):
        raise UserError(
            f"evaluate: samples is {samples} and greedy is {greedy}, which measures nothing"
        )
    likeliest: Sequence[Group] = ()
    drawn: Sequence[Group] = ()
    if greedy:
        likeliest = await rollout(tasks, phase=f"{phase}/greedy", samples=1, temperature=0.0)
    if samples:
        drawn = await rollout(
            tasks, phase=f"{phase}/sampled", samples=samples, temperature=temperature
        )
    return summarise(suite=suite, greedy=likeliest, sampled=drawn)
