"""Advantages of a group: how much better each trial did than its peers. Pure.

Invariant: only scored trials count, and whether a group teaches anything is decided by exact
equality of its rewards, never by a standard deviation that rounding can make positive.
Axis: G trials of one task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from quintain.train._types import Baseline, Scale

__all__ = ["group_advantages"]


def group_advantages(
    rewards_G: Sequence[float | None],  # noqa: N803
    *,
    baseline: Baseline = Baseline.MEAN,
    scale: Scale = Scale.STD,
) -> tuple[float | None, ...] | None:
    """Centre the rewards of a group, and perhaps scale them.

    ::

        group_advantages([1.0, 0.0, None, 0.0], scale=Scale.NONE)  # (2/3, -1/3, None, -1/3)

    A reward of None (a trial that was not scored) stays None and is in no baseline. Returns None
    for a whole group that teaches nothing: fewer than two rewards, or all of them equal.

    The deviation is that of the population the baseline is taken from. When leaving one out makes
    the others equal, their deviation is 0 and the advantage is not divided.
    """
    scored = [reward for reward in rewards_G if reward is not None]
    if len(scored) < 2 or all(reward == scored[0] for reward in scored):
        return None
    advantages: list[float | None] = []
    seen = 0
    for reward in rewards_G:
        if reward is None:
            advantages.append(None)
            continue
        leave_out = baseline is Baseline.LEAVE_ONE_OUT
        peers = scored[:seen] + scored[seen + 1 :] if leave_out else scored
        seen += 1
        advantage = reward - _mean(peers)
        advantages.append(advantage / _deviation(peers) if scale is Scale.STD else advantage)
    return tuple(advantages)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _deviation(values: Sequence[float]) -> float:
    """Return the population's standard deviation, or 1 when all values are equal."""
    if all(value == values[0] for value in values):
        return 1.0
    centre = _mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))
