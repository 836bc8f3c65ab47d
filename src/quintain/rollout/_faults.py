"""When too many trials are spoilt by the infrastructure, stop instead of training on the rest.

Invariant: only the last ``window`` trials count, so that a long healthy past does not hide a
sandbox or endpoint that has just died.
"""

from __future__ import annotations

from collections import Counter, deque

from quintain.errors import BoundaryError, UserError

__all__ = ["FaultMonitor"]


class FaultMonitor:
    """Counts invalid trials; one may be shared by all rollouts of a run."""

    def __init__(self, *, limit: float = 0.2, after: int = 32, window: int = 256) -> None:
        if not 0 <= limit <= 1 or not 1 <= after <= window:
            raise UserError(
                f"fault monitor: limit={limit}, after={after}, window={window}: "
                "limit must be a share, after at least 1 and at most window"
            )
        self.limit = limit
        """Largest share of invalid trials that is tolerated."""
        self.after = after
        """Trials to see before the share means anything."""
        self._recent: deque[str | None] = deque(maxlen=window)

    @property
    def share(self) -> float:
        """Share of invalid trials among the recent ones; 0 before the first."""
        return len(self._reasons()) / len(self._recent) if self._recent else 0.0

    def count(self, reason: str | None) -> None:
        """Count one finished trial; ``reason`` says why it is invalid, None that it is not.

        Raises `BoundaryError`, naming the commonest reason, when the share passes the limit.
        """
        self._recent.append(reason)
        if reason is None or len(self._recent) < self.after or self.share <= self.limit:
            return
        reasons = self._reasons()
        commonest, times = Counter(reasons).most_common(1)[0]
        raise BoundaryError(
            f"{len(reasons)} of the last {len(self._recent)} trials are invalid, more than "
            f"{self.limit:.0%}; the commonest reason ({times} times): {commonest}",
            hint="nothing was counted as reward 0; repair the cause, then begin a new run: "
            "a resumed one keeps these trials invalid",
        )

    def _reasons(self) -> list[str]:
        return [reason for reason in self._recent if reason is not None]
