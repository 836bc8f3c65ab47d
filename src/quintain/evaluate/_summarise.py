"""From groups of trials to an `Evaluation`. Pure: no clock, no I/O, equal results for equal groups.

Refuses trials of the train split. Infrastructure faults are left out and counted, so a suite
that lost many trials shows it; nothing here judges whether too many were lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from quintain.errors import UserError
from quintain.evaluate._model import Evaluation, LevelSummary, Summary, TaskScore
from quintain.ids import short
from quintain.stats import Interval, mean_interval
from quintain.types import Group, Outcome, Policy, Split, Task, Trial

__all__ = ["refuse_train", "summarise"]

_SEED = 0
"""Intervals are a function of the data alone."""


def summarise(*, suite: str, greedy: Sequence[Group], sampled: Sequence[Group]) -> Evaluation:
    """Summarise the groups of one policy on one suite.

    ``greedy`` holds trials at temperature 0, ``sampled`` trials at the temperature under test;
    either may be empty, both may hold the same tasks, each at most one group a task.
    Raises `UserError` for no groups, train tasks, two groups of one task, trials of another task,
    or trials of several policies.
    """
    tasks = {group.task.id: group.task for group in (*greedy, *sampled)}
    if not tasks:
        raise UserError(f"suite {suite!r}: there are no groups to summarise")
    refuse_train(tasks.values())
    greedy_by_id, sampled_by_id = _by_task(greedy, suite), _by_task(sampled, suite)
    scores = [
        _score(task, greedy_by_id.get(task.id, ()), sampled_by_id.get(task.id, ()))
        for task in tasks.values()
    ]
    scores.sort(key=lambda score: (score.family, score.level, score.task_id))
    families = sorted({score.family for score in scores})
    cells = sorted({(score.family, score.level) for score in scores})
    return Evaluation(
        suite=suite,
        policy=_policy((*greedy, *sampled), suite),
        tasks=tuple(scores),
        total=_summary(scores),
        families={name: _summary([s for s in scores if s.family == name]) for name in families},
        levels=tuple(
            LevelSummary(
                family=family,
                level=level,
                summary=_summary([s for s in scores if (s.family, s.level) == (family, level)]),
            )
            for family, level in cells
        ),
    )


def refuse_train(tasks: Iterable[Task]) -> None:
    """Raise `UserError` when any task is on the train side of the wall."""
    train = [task for task in tasks if task.split is Split.TRAIN]
    if train:
        raise UserError(
            f"evaluation was given {len(train)} task(s) of the train split: {_names(train)}",
            hint="generate evaluation tasks with split=held_out",
        )


def _names(tasks: Sequence[Task]) -> str:
    shown = ", ".join(f"{task.family}/{short(task.id)}" for task in tasks[:5])
    return shown + (", …" if len(tasks) > 5 else "")


def _by_task(groups: Sequence[Group], suite: str) -> dict[str, tuple[Trial, ...]]:
    found: dict[str, tuple[Trial, ...]] = {}
    for group in groups:
        task = group.task
        if task.id in found:
            raise UserError(
                f"suite {suite!r}: problem {task.family}/{short(task.id)} occurs twice",
                hint="it would count twice; keep one wording of each problem",
            )
        for trial in group.trials_G:
            if trial.task_id != task.id or trial.split is Split.TRAIN:
                raise UserError(
                    f"suite {suite!r}: trial {short(trial.id)} belongs to task "
                    f"{short(trial.task_id)} ({trial.split}), not to {short(task.id)}"
                )
        found[task.id] = group.trials_G
    return found


def _policy(groups: Sequence[Group], suite: str) -> Policy:
    policies = list(dict.fromkeys(t.policy for group in groups for t in group.trials_G))
    if len(policies) != 1:
        names = ", ".join(f"{policy.name}@{policy.version}" for policy in policies) or "none"
        raise UserError(
            f"suite {suite!r}: an evaluation measures one policy, but the trials are of: {names}"
        )
    return policies[0]


def _score(task: Task, greedy: tuple[Trial, ...], sampled: tuple[Trial, ...]) -> TaskScore:
    outcomes = [trial.verdict.outcome for trial in (*greedy, *sampled)]
    passes = _passes(sampled)
    return TaskScore(
        task_id=task.id,
        variant=task.variant,
        family=task.family,
        level=task.level,
        greedy=_mean(_passes(greedy)),
        sampled=_mean(passes),
        samples=len(passes),
        scored=outcomes.count(Outcome.SCORED),
        invalid=outcomes.count(Outcome.INVALID),
        abstained=outcomes.count(Outcome.NOT_APPLICABLE),
    )


def _passes(trials: tuple[Trial, ...]) -> list[float]:
    """1 or 0 for each scored trial; faults are left out."""
    passes = []
    for trial in trials:
        if trial.verdict.outcome is not Outcome.SCORED:
            continue
        if trial.reward is None:
            raise UserError(f"trial {short(trial.id)} is scored, but carries no reward")
        passes.append(float(trial.reward.value == 1))
    return passes


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _summary(scores: Sequence[TaskScore]) -> Summary:
    greedy = [score.greedy for score in scores if score.greedy is not None]
    sampled = [score.sampled for score in scores if score.sampled is not None]
    return Summary(
        greedy=_mean(greedy),
        sampled=_mean(sampled),
        n=len(scores),
        trials=sum(score.scored for score in scores),
        invalid=sum(score.invalid for score in scores),
        abstained=sum(score.abstained for score in scores),
        greedy_ci95=_ci95(greedy),
        sampled_ci95=_ci95(sampled),
    )


def _ci95(values: Sequence[float]) -> tuple[float, float] | None:
    if not values:
        return None
    interval = mean_interval(values, bounds=(0.0, 1.0), seed=_SEED, resamples=2000)
    return (interval.lo, interval.hi) if isinstance(interval, Interval) else None
