"""The paired change between two evaluations.

Pairs on `Task.id`, so that easy and hard tasks cancel out. It does not correct for comparing many
families, nor for comparing again and again during a run: say beforehand which one decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from quintain.errors import UserError
from quintain.evaluate._model import Evaluation, Metric, Paired, TaskScore
from quintain.ids import short
from quintain.stats import Interval, minimum_detectable_effect, paired_difference

__all__ = ["compare"]

_SEED = 0
"""Intervals are a function of the data alone."""


def compare(
    before: Evaluation,
    after: Evaluation,
    *,
    family: str | None = None,
    metric: Metric = "sampled",
    structures: Mapping[str, str] | None = None,
) -> Paired:
    """Estimate how much ``after`` passes more than ``before``, with a 95 % interval.

    ``structures`` maps each task id to the structure (template, repository) that makes tasks
    alike; whole structures are then resampled. Without it every task stands alone.
    Raises `UserError` when no task of ``family`` is scored on both sides, when a task was worded
    differently on the two sides, or when ``structures`` leaves a task out.
    """
    pairs, unpaired = _pairs(before, after, family, metric)
    clusters = [_structure(score, structures) for score, _, _ in pairs]
    befores, afters = [b for _, b, _ in pairs], [a for _, _, a in pairs]
    found = paired_difference(befores, afters, clusters, seed=_SEED)
    interval = found.interval if isinstance(found.interval, Interval) else None
    return Paired(
        metric=metric,
        family=family or "",
        before=math.fsum(befores) / len(pairs),
        after=math.fsum(afters) / len(pairs),
        delta=found.delta,
        ci95=(interval.lo, interval.hi) if interval else None,
        n=found.n,
        clusters=found.clusters,
        estimable=interval is not None,
        # SE² · n is the spread of one task's measured difference, sampling noise included
        mde=minimum_detectable_effect(found.n, omega2=found.se**2 * found.n) if found.se else None,
        improved=sum(a > b for _, b, a in pairs),
        worsened=sum(a < b for _, b, a in pairs),
        unpaired=unpaired,
    )


def _pairs(
    before: Evaluation, after: Evaluation, family: str | None, metric: Metric
) -> tuple[list[tuple[TaskScore, float, float]], int]:
    """Return the tasks scored on both sides, with both rates, and the number of others."""
    sides = [
        {score.task_id: score for score in side.tasks if family in (None, score.family)}
        for side in (before, after)
    ]
    pairs = []
    for task_id, old in sides[0].items():
        new = sides[1].get(task_id)
        if new is None:
            continue
        if new.variant != old.variant:
            raise UserError(
                f"task {old.family}/{short(task_id)} was asked in different words before and after",
                hint="evaluate both policies on one list of tasks",
            )
        was, became = old.rate(metric), new.rate(metric)
        if was is not None and became is not None:
            pairs.append((old, was, became))
    if not pairs:
        scope = f"family {family!r}" if family else "the suite"
        raise UserError(
            f"compare: no task of {scope} has a {metric} score in both "
            f"{before.suite!r} and {after.suite!r}",
            hint="evaluate both policies on one list of tasks, with the same metric",
        )
    return pairs, len(sides[0].keys() | sides[1].keys()) - len(pairs)


def _structure(score: TaskScore, structures: Mapping[str, str] | None) -> str:
    if structures is None:
        return score.task_id
    try:
        return structures[score.task_id]
    except KeyError:
        raise UserError(
            f"compare: structures has no entry for task {score.family}/{short(score.task_id)}"
        ) from None
