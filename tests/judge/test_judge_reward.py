from __future__ import annotations

import pytest

from quintain.errors import UserError
from quintain.judge import reward
from quintain.types import (
    AllOrNothing,
    Fraction,
    JudgeId,
    Layer,
    LayerResult,
    Outcome,
    Reward,
    Verdict,
)


def verdict(
    function: float | None,
    *,
    outcome: Outcome = Outcome.SCORED,
    structure: float = 1.0,
    flags: tuple[str, ...] = (),
) -> Verdict:
    scores = {Layer.INTEGRITY: 1.0, Layer.STRUCTURE: structure, Layer.FUNCTION: function}
    return Verdict(
        outcome=outcome,
        judge=JudgeId(name="test", digest=""),
        layers=tuple(
            LayerResult(layer=layer, outcome=Outcome.SCORED, score=score)
            for layer, score in scores.items()
            if score is not None
        ),
        flags=flags,
    )


@pytest.mark.parametrize("outcome", [Outcome.INVALID, Outcome.NOT_APPLICABLE])
def test_there_is_no_reward_unless_the_verdict_is_scored(outcome: Outcome) -> None:
    assert reward(verdict(1.0, outcome=outcome), AllOrNothing()) is None
    assert reward(verdict(1.0, outcome=outcome), Fraction()) is None


@pytest.mark.parametrize(
    ("score", "whole", "part", "squared"),
    [(1.0, 1.0, 1.0, 1.0), (0.999, 0.0, 0.999, 0.998001), (0.5, 0.0, 0.5, 0.25), (0.0, 0, 0, 0)],
)
def test_a_rule_decides_what_a_score_is_worth(
    score: float, whole: float, part: float, squared: float
) -> None:
    assert reward(verdict(score), AllOrNothing()) == Reward(value=whole, rule="all_or_nothing")
    assert reward(verdict(score), Fraction()) == Reward(value=part, rule="fraction")
    worth = reward(verdict(score), Fraction(exponent=2.0))
    assert worth is not None
    assert worth.value == pytest.approx(squared)


@pytest.mark.parametrize("rule", [AllOrNothing(), Fraction()])
def test_flags_and_failed_gates_are_worth_nothing(rule: AllOrNothing | Fraction) -> None:
    for found in (
        verdict(1.0, flags=("claim_twice",)),
        verdict(1.0, structure=0.0),
        verdict(None),
    ):
        worth = reward(found, rule)
        assert worth is not None
        assert worth.value == 0.0


@pytest.mark.parametrize("exponent", [0.0, -1.0, float("nan"), float("inf")])
def test_an_exponent_that_would_pay_failure_is_refused(exponent: float) -> None:
    with pytest.raises(UserError, match="exponent"):
        reward(verdict(0.5), Fraction(exponent=exponent))
