"""What an estimate can be: an interval, or a statement that there is none.

`NotEstimable` is a value, never 0 and never NaN: an interval of width 0 would read as certainty.
"""

from __future__ import annotations

from quintain.types import Noun

__all__ = ["Interval", "NotEstimable"]


class Interval(Noun, frozen=True, kw_only=True):
    """A two-sided confidence interval."""

    lo: float
    hi: float
    confidence: float = 0.95


class NotEstimable(Noun, frozen=True, kw_only=True):
    """The data cannot support the estimate."""

    reason: str
    """One clause for people, for instance ``fewer than 2 clusters``."""
