"""What an evaluation found: per task, per family and level, in total, and as a paired change.

A rate is None when nothing could be scored, never 0. All rates weigh every task alike, whatever
the number of its samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from quintain.types import Noun, Policy

__all__ = ["Evaluation", "LevelSummary", "Metric", "Paired", "Summary", "TaskScore"]

Metric = Literal["greedy", "sampled"]
"""``greedy``: the likeliest answer; ``sampled``: the mean over the samples of a task."""


class TaskScore(Noun, frozen=True, kw_only=True):
    """How one task went. A pass is a reward of exactly 1."""

    task_id: str
    variant: str
    """Hash of what the policy saw (`Task.variant`)."""
    family: str
    level: int
    greedy: float | None
    sampled: float | None
    samples: int
    """Sampled trials that were scored."""
    scored: int
    """Trials, greedy or sampled, that were scored."""
    invalid: int
    """Trials, greedy or sampled, left out for faults of the infrastructure or the judge."""
    abstained: int
    """Trials left out because the judge does not apply."""

    def rate(self, metric: Metric) -> float | None:
        """Return the rate that ``metric`` names."""
        return self.greedy if metric == "greedy" else self.sampled


class Summary(Noun, frozen=True, kw_only=True):
    """Mean rates over tasks, with 95 % intervals that resample tasks."""

    greedy: float | None
    sampled: float | None
    n: int
    """Tasks."""
    trials: int
    """Trials that were scored."""
    invalid: int
    abstained: int
    greedy_ci95: tuple[float, float] | None = None
    """None when it cannot be estimated."""
    sampled_ci95: tuple[float, float] | None = None


class LevelSummary(Noun, frozen=True, kw_only=True):
    """One cell of family by level."""

    family: str
    level: int
    summary: Summary


class Evaluation(Noun, frozen=True, kw_only=True):
    """One policy measured on one suite of tasks that training never sees."""

    suite: str
    policy: Policy
    tasks: tuple[TaskScore, ...]
    """Ordered by family, level and id."""
    total: Summary
    families: Mapping[str, Summary]
    levels: tuple[LevelSummary, ...]


class Paired(Noun, frozen=True, kw_only=True):
    """The change between two evaluations, over the tasks that both scored."""

    metric: Metric
    family: str
    """Empty for all families together."""
    before: float
    """Mean rate over the paired tasks."""
    after: float
    delta: float
    """after − before."""
    ci95: tuple[float, float] | None
    """Interval of ``delta``; None when it is not estimable."""
    n: int
    """Tasks scored in both."""
    clusters: int
    estimable: bool
    mde: float | None
    """Smallest true change seen with 80 % power at this spread; None when not estimable."""
    improved: int
    """Tasks whose rate rose."""
    worsened: int
    unpaired: int
    """Tasks left out because one side could not score them."""

    @property
    def distinguishable(self) -> bool:
        """Whether the interval excludes no change."""
        return self.ci95 is not None and (self.ci95[0] > 0 or self.ci95[1] < 0)
