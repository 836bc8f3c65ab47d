import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.train import Baseline, Scale, group_advantages

REWARDS = st.lists(st.one_of(st.none(), st.floats(0, 1, width=32)), max_size=16)


@given(rewards=REWARDS, baseline=st.sampled_from(Baseline), scale=st.sampled_from(Scale))
def test_a_group_is_skipped_exactly_when_its_rewards_are_equal(
    rewards: list[float | None], baseline: Baseline, scale: Scale
) -> None:
    scored = [reward for reward in rewards if reward is not None]
    found = group_advantages(rewards, baseline=baseline, scale=scale)
    assert (found is None) == (len(set(scored)) < 2)


@given(rewards=REWARDS, scale=st.sampled_from(Scale))
def test_advantages_about_the_mean_sum_to_zero(rewards: list[float | None], scale: Scale) -> None:
    found = group_advantages(rewards, scale=scale)
    if found is not None:
        assert math.fsum(a for a in found if a is not None) == pytest.approx(0, abs=1e-6)


@given(rewards=REWARDS, baseline=st.sampled_from(Baseline), scale=st.sampled_from(Scale))
def test_trials_that_are_not_scored_change_nothing_for_the_others(
    rewards: list[float | None], baseline: Baseline, scale: Scale
) -> None:
    found = group_advantages(rewards, baseline=baseline, scale=scale)
    scored = [reward for reward in rewards if reward is not None]
    alone = group_advantages(scored, baseline=baseline, scale=scale)
    if found is None:
        assert alone is None
        return
    assert [a for a in found if a is not None] == list(alone or ())
    assert [a is None for a in found] == [r is None for r in rewards]


@given(rewards=REWARDS)
def test_leaving_one_out_is_the_mean_baseline_stretched(rewards: list[float | None]) -> None:
    n = sum(reward is not None for reward in rewards)
    mean = group_advantages(rewards, scale=Scale.NONE)
    loo = group_advantages(rewards, scale=Scale.NONE, baseline=Baseline.LEAVE_ONE_OUT)
    for one, other in zip(mean or (), loo or (), strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert other == pytest.approx(one * n / (n - 1), abs=1e-9)


def test_deviations_scale_the_group_to_one() -> None:
    found = group_advantages([1.0, 0.0, 0.0, 1.0])
    assert found == pytest.approx((1.0, -1.0, -1.0, 1.0))


def test_a_loser_among_equals_is_not_divided_by_a_rounding_residue() -> None:
    rewards = [0.35] * 7 + [0.0]
    found = group_advantages(rewards, baseline=Baseline.LEAVE_ONE_OUT, scale=Scale.STD)
    assert found is not None
    assert found[-1] == -0.35


@pytest.mark.parametrize("value", [0.0, 0.1, 0.35, 0.95, 1.0])
@pytest.mark.parametrize("size", [2, 3, 7, 8, 16])
def test_equal_rewards_are_skipped_whatever_their_value(value: float, size: int) -> None:
    assert group_advantages([value] * size) is None


def test_one_zero_among_equal_rewards_keeps_the_whole_group() -> None:
    found = group_advantages([0.0] + [0.95] * 7)
    assert found is not None
    assert all(a is not None and a != 0 for a in found)


def test_a_group_with_one_scored_trial_is_skipped() -> None:
    assert group_advantages([None, 1.0, None]) is None
