"""From a verdict to a reward, by a declared rule."""

from __future__ import annotations

import math
from typing import assert_never

from quintain.errors import UserError
from quintain.types import AllOrNothing, Fraction, Layer, Outcome, Reward, RewardRule, Verdict

__all__ = ["reward"]

_GATES = (Layer.INTEGRITY, Layer.STRUCTURE)


def reward(verdict: Verdict, rule: RewardRule) -> Reward | None:
    """Say what a verdict is worth, 0 to 1; None unless it is scored.

    Any flag, and any earlier layer that scored below 1, makes it 0. Raises `UserError` for a rule
    whose exponent is not a positive number.
    """
    if verdict.outcome is not Outcome.SCORED:
        return None
    score = verdict.score(Layer.FUNCTION)
    if verdict.flags or any(verdict.score(gate) < 1 for gate in _GATES):
        score = 0.0
    match rule:
        case AllOrNothing():
            return Reward(value=1.0 if score == 1 else 0.0, rule="all_or_nothing")
        case Fraction(exponent=exponent):
            if not (math.isfinite(exponent) and exponent > 0):
                raise UserError(f"reward rule: exponent must be positive, not {exponent}")
            return Reward(value=score**exponent, rule="fraction")
        case _:
            assert_never(rule)
