"""What the parts of a run share: where it writes, how it rolls out, what it has spent.

Invariant: every trial of the run, training or evaluation, goes through `Session.rollout`, so it is
in the log and counted once; trials of an earlier life of the run are reused from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from quintain.interface import Interface
from quintain.log import EventRecord, MetricRecord, RunLog
from quintain.policy import Sampler
from quintain.rollout import Budget, Capacity, FaultMonitor, Judge, rollout
from quintain.sandbox import AuditRecord
from quintain.types import Group, Outcome, Task, Trial, TrialKey
from quintain.view import Progress

__all__ = ["Session", "Stopwatch"]


class Stopwatch:
    """Wall seconds by part of the run; parts do not nest."""

    def __init__(self, began: float, record: Callable[[str, float], None]) -> None:
        self._began = began
        self._record = record

    @property
    def elapsed_s(self) -> float:
        """Seconds since this life of the run began."""
        return time.monotonic() - self._began

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time a block and record it, also when it fails."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._record(name, time.monotonic() - began)


@dataclass(kw_only=True)
class Session:
    """One life of a run, from its start or resume to its end."""

    seed: int
    log: RunLog
    audit: Callable[[AuditRecord], None]
    sampler: Sampler
    judge: Judge
    interface: Callable[[Task], Interface]
    done: Mapping[TrialKey, Trial]
    progress: Progress
    capacity: Capacity
    max_trials: int | None
    max_seconds: float | None
    began: float
    """`time.monotonic` when this life began, loading included."""
    final_s: float = 0.0
    """Seconds that the final evaluation is expected to take: what the first one took."""
    trials: int = 0
    """Trials on record, those of earlier lives included."""
    stopped: str = ""
    """Why the run stops early; empty while it does not."""
    faults: FaultMonitor = field(default_factory=FaultMonitor)
    watch: Stopwatch = field(init=False)
    recorded: set[TrialKey] = field(init=False)
    """Keys of all trials in the log."""

    def __post_init__(self) -> None:
        if self.max_seconds is not None:
            self.final_s = min(_span(self.done), 0.35 * self.max_seconds) or 0.15 * self.max_seconds
        self.trials = len(self.done)
        self.recorded = set(self.done)
        self.watch = Stopwatch(
            self.began,
            lambda name, seconds: self.log.append(
                MetricRecord(phase="time", step=0, values={name: seconds})
            ),
        )

    async def rollout(
        self,
        tasks: Sequence[Task],
        *,
        phase: str,
        step: int,
        samples: int,
        temperature: float,
        budget: Budget | None = None,
    ) -> list[Group]:
        """Attempt tasks; see `quintain.rollout.rollout`."""
        return await rollout(
            tasks, sampler=self.sampler, interface=self.interface, judge=self.judge, log=self.log,
            audit=self.audit, seed=self.seed, phase=phase, step=step, samples=samples,
            temperature=temperature, done=self.done, budget=budget, capacity=self.capacity,
            faults=self.faults, on_trial=self._count,
        )  # fmt: skip

    def budget(self, seconds: float | None) -> Budget:
        """Return a budget of ``seconds`` and of what is left of the run's trials."""
        return Budget(max_trials=self.max_trials, max_seconds=seconds, used=self.trials)

    def missing(self, tasks: Sequence[Task], *, phase: str, step: int, samples: int) -> int:
        """Count the trials of a rollout that are not in the log: what it would cost."""
        return sum(
            TrialKey(phase=phase, step=step, task_variant=variant, sample=sample)
            not in self.recorded
            for variant in (task.variant for task in tasks)
            for sample in range(samples)
        )

    def affords(self, *, trials: int, seconds: float) -> bool:
        """Tell whether that much more fits into the budgets; note the reason when it does not."""
        if self.max_trials is not None and self.trials + trials > self.max_trials:
            self.stopped = (
                f"the budget of {self.max_trials} trials: {self.trials} are made, and a step with "
                f"the final evaluation needs {trials}"
            )
        elif self.max_seconds is not None and self.watch.elapsed_s + seconds > self.max_seconds:
            self.stopped = (
                f"the budget of {self.max_seconds / 60:g} minutes: {self.watch.elapsed_s / 60:.1f} "
                f"have passed, and a step with the final evaluation takes {seconds / 60:.1f}"
            )
        return not self.stopped

    def spent_sampling(self, groups: Sequence[Group], seconds: float) -> None:
        """Divide the wall time of a rollout between sampling and the judging beside it."""
        trials = [trial for group in groups for trial in group.trials_G]
        judging = sum(trial.costs.judging_s for trial in trials) / self.capacity.judging
        judging = min(judging, seconds / 2)
        self.metric("time", 0, {"judging": judging, "sampling": seconds - judging})

    def metric(self, phase: str, step: int, values: Mapping[str, float]) -> None:
        """Record figures of a step."""
        self.log.append(MetricRecord(phase=phase, step=step, values=values))

    def event(self, kind: str, message: str) -> None:
        """Record something that people should be able to find later."""
        self.log.append(EventRecord(kind=kind, message=message, at=time.time()))

    def _count(self, trial: Trial) -> None:
        self.trials += 1
        self.recorded.add(trial.key)
        scored = trial.verdict.outcome is Outcome.SCORED and trial.reward is not None
        self.progress.trial(trial.reward.value if scored and trial.reward else None)


def _span(done: Mapping[TrialKey, Trial]) -> float:
    """Return how long the first evaluation on record took, 0 when there is none."""
    ends = [t.finished_at for k, t in done.items() if k.phase.startswith("eval/before/")]
    return max(ends) - min(ends) if ends else 0.0
