"""When a run looks at its policy, at which held-out tasks, and what that costs.

Invariant: the final evaluation asks what the first one asked, so that every task measured at the
end has its pair, and a budget of trials leaves about a third for training.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from quintain.recipes._config import RunConfig
from quintain.recipes._draws import held_out, probe
from quintain.recipes._measure import look
from quintain.recipes._session import Session
from quintain.types import Task

__all__ = ["Measuring"]


class Measuring:
    """The evaluations of one run."""

    def __init__(self, config: RunConfig, session: Session) -> None:
        self._config = config
        self._session = session
        self._suite = held_out(config)
        self._few = probe(config, self._suite)

    async def before(self) -> None:
        """Measure the base policy, on as many tasks as the budgets can afford twice."""
        session, wanted = self._session, self._within_budget()
        limit = None if session.max_seconds is None else 0.35 * session.max_seconds
        made, began = session.trials, time.monotonic()
        await self._look(wanted, "eval/before", 0, limit)
        fresh = session.trials - made
        total = len(wanted) * (self._config.held_out_samples + 1)
        if 2 * fresh > total:  # read back from the log it would seem to take no time
            session.final_s = (time.monotonic() - began) * total / fresh

    async def probe(self, step: int) -> None:
        """Look at a fixed part of the suite, for the curve; ``step`` counts GRPO steps."""
        await look(
            self._session, self._few, phase="eval/probe", step=step, greedy=False,
            samples=self._config.held_out_samples, temperature=self._config.temperature,
        )  # fmt: skip

    async def after(self, step: int) -> None:
        """Measure the policy at the end, ``step`` updates after the base."""
        session, limit = self._session, None
        if session.max_seconds is not None:
            left = session.max_seconds - session.watch.elapsed_s
            limit = max(left, 0.15 * session.max_seconds)  # some evidence is better than none
        await self._look(self._measured_before(), "eval/after", step, limit)

    def probe_trials(self, step: int) -> int:
        """Count the trials that a probe would add to the log."""
        samples = self._config.held_out_samples
        return self._session.missing(
            self._few, phase="eval/probe/sampled", step=step, samples=samples
        )

    def final_trials(self, step: int) -> int:
        """Count the trials that the final evaluation would add to the log."""
        tasks, samples = self._measured_before(), self._config.held_out_samples
        return self._session.missing(
            tasks, phase="eval/after/sampled", step=step, samples=samples
        ) + self._session.missing(tasks, phase="eval/after/greedy", step=step, samples=1)

    async def _look(
        self, tasks: Sequence[Task], phase: str, step: int, seconds: float | None
    ) -> None:
        await look(
            self._session, tasks, phase=phase, step=step, seconds=seconds,
            samples=self._config.held_out_samples, temperature=self._config.temperature,
        )  # fmt: skip

    def _within_budget(self) -> list[Task]:
        """Return the part of the suite whose two evaluations fit into two thirds of the trials."""
        limit = self._session.max_trials
        if limit is None:
            return self._suite
        fitting = 2 * limit // 3 // (2 * (self._config.held_out_samples + 1))
        return self._suite[: max(fitting, 1)]

    def _measured_before(self) -> list[Task]:
        """Return the tasks whose first evaluation, the sampled part, is on record."""
        samples = self._config.held_out_samples
        return [
            task
            for task in self._suite
            if not self._session.missing(
                [task], phase="eval/before/sampled", step=0, samples=samples
            )
        ]
