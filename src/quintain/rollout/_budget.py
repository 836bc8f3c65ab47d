"""How much a run may still do.

Invariant: a budget only refuses new work; what it accepted is allowed to finish. Once it has
refused it stays shut, so that nothing small slips in after something large was turned away.
Not guaranteed: that accepted work ends before the deadline.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from quintain.errors import UserError

__all__ = ["Budget"]


class Budget:
    """A number of trials, a number of seconds, or both; shared by the rollouts of a run.

    ``used`` is what a resumed run has spent already. Seconds count from when the budget is made.
    """

    def __init__(
        self,
        *,
        max_trials: int | None = None,
        max_seconds: float | None = None,
        used: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_trials is not None and max_trials < 0:
            raise UserError(f"budget: max_trials is {max_trials}, must be 0 or more")
        if max_seconds is not None and not max_seconds >= 0:  # NaN is refused too
            raise UserError(f"budget: max_seconds is {max_seconds}, must be 0 or more")
        self.max_trials = max_trials
        self.max_seconds = max_seconds
        self.used = used
        """Trials accepted so far."""
        self.stopped = ""
        """Why the budget is shut, in words; empty while it is open."""
        self._clock = clock
        self._deadline = None if max_seconds is None else clock() + max_seconds

    def accept(self, trials: int) -> bool:
        """Reserve ``trials`` more, or refuse and stay shut."""
        if not self.stopped:
            self.stopped = self._refusal(trials)
        if self.stopped:
            return False
        self.used += trials
        return True

    def _refusal(self, trials: int) -> str:
        if self._deadline is not None and self._clock() >= self._deadline:
            return f"the time of {self.max_seconds:g} s is used up"
        if self.max_trials is not None and self.used + trials > self.max_trials:
            return f"{self.used} of {self.max_trials} trials are used, {trials} more do not fit"
        return ""
