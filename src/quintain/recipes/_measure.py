"""Looking at the policy during a run, and reading back what was seen.

What a run found is a function of its log alone: `measured` gathers an evaluation from recorded
trials, whichever life of the run made them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quintain.evaluate import Evaluation, Metric, Paired, compare, summarise
from quintain.log import Run
from quintain.recipes._session import Session
from quintain.types import Group, Task, Trial

__all__ = ["Measured", "last_step", "look", "measured", "paired"]


async def look(
    session: Session,
    tasks: Sequence[Task],
    *,
    phase: str,
    samples: int,
    temperature: float,
    step: int = 0,
    greedy: bool = True,
    seconds: float | None = None,
) -> None:
    """Try held-out tasks ``samples`` times, and once greedily unless told not to.

    ``seconds`` bounds the time in which new tasks are begun.
    """
    session.progress.phase(phase, trials=len(tasks) * (samples + greedy))
    budget = session.budget(seconds)
    with session.watch.part("evaluating"):
        drawn = await session.rollout(
            tasks, phase=f"{phase}/sampled", step=step, samples=samples,
            temperature=temperature, budget=budget,
        )  # fmt: skip
        if greedy:
            await session.rollout(
                tasks, phase=f"{phase}/greedy", step=step, samples=1, temperature=0.0,
                budget=budget,
            )  # fmt: skip
    if drawn:
        evaluation = summarise(suite=phase, greedy=(), sampled=drawn)
        session.progress.held_out(step, evaluation.total.sampled)


class Measured:
    """One evaluation with the groups it came from."""

    def __init__(self, suite: str, greedy: Sequence[Group], sampled: Sequence[Group]) -> None:
        self.greedy = list(greedy)
        self.sampled = list(sampled)
        self.evaluation: Evaluation | None = (
            summarise(suite=suite, greedy=greedy, sampled=sampled) if greedy or sampled else None
        )
        """None when nothing was measured."""


def last_step(run: Run, phase: str) -> int:
    """Return the latest step at which a phase was measured, 0 when it never was."""
    steps = [t.key.step for t in run.trials if t.key.phase.startswith(f"{phase}/")]
    return max(steps, default=0)


def measured(run: Run, phase: str, *, samples: int, step: int = 0) -> Measured:
    """Gather an evaluation from a run's log; tasks with missing trials are left out."""
    return Measured(
        phase,
        greedy=_groups(run, f"{phase}/greedy", step, 1),
        sampled=_groups(run, f"{phase}/sampled", step, samples),
    )


def paired(before: Measured, after: Measured, family: str | None, metric: Metric) -> Paired | None:
    """Compare two evaluations; None when they share no scored task."""
    if before.evaluation is None or after.evaluation is None:
        return None
    scored = [
        {t.task_id for t in side.tasks if family in (None, t.family) and t.rate(metric) is not None}
        for side in (before.evaluation, after.evaluation)
    ]
    if not scored[0] & scored[1]:
        return None
    return compare(before.evaluation, after.evaluation, family=family, metric=metric)


def _groups(run: Run, phase: str, step: int, samples: int) -> list[Group]:
    found: dict[str, list[Trial]] = {}
    for trial in _of(run.trials, phase, step):
        found.setdefault(trial.key.task_variant, []).append(trial)
    return [
        Group(task=run.tasks[variant], trials_G=tuple(sorted(trials, key=lambda t: t.key.sample)))
        for variant, trials in found.items()
        if len(trials) == samples
    ]


def _of(trials: Iterable[Trial], phase: str, step: int) -> Iterable[Trial]:
    return (trial for trial in trials if trial.key.phase == phase and trial.key.step == step)
