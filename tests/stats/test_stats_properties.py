"""What must hold of the statistics whatever the data."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import quintain.stats
from quintain.errors import UserError
from quintain.stats import (
    Interval,
    IntervalMethod,
    NotEstimable,
    clustered_se,
    effective_sample_size,
    mcnemar_exact,
    mean_interval,
    minimum_detectable_effect,
    paired_difference,
    pass_at_k,
    rogan_gladen,
    spearman,
    standard_error,
    tasks_required,
    wilson,
    zero_events_upper,
)

SHARES = st.floats(0, 1)
SAMPLES = st.lists(SHARES, min_size=2, max_size=30)


def test_all_is_sorted_and_every_name_exists() -> None:
    assert list(quintain.stats.__all__) == sorted(quintain.stats.__all__)
    assert all(hasattr(quintain.stats, name) for name in quintain.stats.__all__)


# --- proportions -----------------------------------------------------------------------------


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.data())
def test_pass_at_k_is_the_share_of_subsets_with_a_pass(
    nc: tuple[int, int], data: st.DataObject
) -> None:
    n, c = nc
    k = data.draw(st.integers(1, n))
    subsets = list(itertools.combinations([1] * c + [0] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize(("n", "c", "k"), [(3, 1, 4), (3, 4, 1), (3, -1, 1), (0, 0, 1), (3, 1, 0)])
def test_pass_at_k_refuses_what_cannot_be_counted(n: int, c: int, k: int) -> None:
    with pytest.raises(UserError):
        pass_at_k(n, c, k)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_wilson_contains_the_observed_share_and_mirrors(nk: tuple[int, int]) -> None:
    n, k = nk
    one, other = wilson(k, n), wilson(n - k, n)
    assert 0 <= one.lo <= k / n + 1e-12
    assert k / n - 1e-12 <= one.hi <= 1
    assert (one.lo, one.hi) == pytest.approx((1 - other.hi, 1 - other.lo))


@given(st.integers(1, 10**6), st.floats(0.5, 0.999))
def test_zero_events_bound_makes_silence_as_unlikely_as_stated(n: int, confidence: float) -> None:
    upper = zero_events_upper(n, confidence)
    assert n * math.log1p(-upper) == pytest.approx(math.log1p(-confidence), rel=1e-6)


def test_zero_events_bound_is_near_the_rule_of_three() -> None:
    assert zero_events_upper(3000) == pytest.approx(3 / 3000, rel=0.01)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_symmetric_sign_test(b: int, c: int) -> None:
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)
    if b + c:
        expected = scipy.stats.binomtest(b, b + c).pvalue
        assert mcnemar_exact(b, c) == pytest.approx(expected)
    else:
        assert mcnemar_exact(b, c) == 1.0


@given(SHARES, st.floats(0.6, 1), st.floats(0.6, 1))
def test_rogan_gladen_undoes_a_judge_that_errs(true: float, se: float, sp: float) -> None:
    observed = true * se + (1 - true) * (1 - sp)
    assert rogan_gladen(observed, se, sp) == pytest.approx(true, abs=1e-9)


@pytest.mark.parametrize(("p", "se", "sp"), [(0.5, 0.5, 0.5), (0.5, 0.2, 0.3), (1.5, 0.9, 0.9)])
def test_rogan_gladen_refuses_a_judge_without_information(p: float, se: float, sp: float) -> None:
    with pytest.raises(UserError):
        rogan_gladen(p, se, sp)


# --- means -----------------------------------------------------------------------------------


@given(SAMPLES)
def test_singleton_clusters_differ_from_the_plain_error_by_bessels_factor(
    values: list[float],
) -> None:
    n, plain = len(values), standard_error(values)
    clustered = clustered_se(values, range(n))
    assert isinstance(plain, float)
    assert clustered == pytest.approx(plain * math.sqrt((n - 1) / n), abs=1e-9)


@given(SAMPLES)
def test_copying_every_value_within_its_cluster_adds_no_certainty(values: list[float]) -> None:
    names = list(range(len(values)))
    once, thrice = clustered_se(values, names), clustered_se(values * 3, names * 3)
    assert thrice == pytest.approx(once, abs=1e-9)


def test_one_cluster_is_not_estimable_rather_than_certain() -> None:
    assert isinstance(clustered_se([0, 1, 1], ["a"] * 3), NotEstimable)
    assert isinstance(standard_error([1.0]), NotEstimable)
    assert isinstance(mean_interval([0, 1], ["a", "a"], bounds=(0, 1), seed=0), NotEstimable)
    paired = paired_difference([0, 0], [1, 1], ["a", "a"], seed=0)
    assert (paired.delta, paired.se) == (1.0, None)
    assert isinstance(paired.interval, NotEstimable)


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=40))
def test_effective_sample_size_lies_between_one_and_n(weights: list[float]) -> None:
    assert 1 - 1e-9 <= effective_sample_size(weights) <= len(weights) * (1 + 1e-9)
    assert effective_sample_size([weights[0]] * 7) == pytest.approx(7)


def test_effective_sample_size_survives_large_weights_and_refuses_empty_ones() -> None:
    assert effective_sample_size([1e200, 1e200]) == pytest.approx(2)
    for weights in ([], [0.0, 0.0], [-1.0, 2.0], [math.nan]):
        with pytest.raises(UserError):
            effective_sample_size(weights)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30))
def test_spearman_agrees_with_scipy_and_says_when_it_cannot(pairs: list[tuple[int, int]]) -> None:
    x, y = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    ours = spearman(x, y)
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert isinstance(ours, NotEstimable)
    else:
        assert ours == pytest.approx(float(scipy.stats.spearmanr(x, y).statistic), abs=1e-9)


# --- paired differences ----------------------------------------------------------------------


def bounds_of(interval: Interval | NotEstimable) -> tuple[float, float]:
    assert isinstance(interval, Interval)
    return interval.lo, interval.hi


@given(
    st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=20), st.sampled_from(IntervalMethod)
)
def test_swapping_before_and_after_turns_the_difference_round(
    pairs: list[tuple[float, float]], method: IntervalMethod
) -> None:
    before, after = [a for a, _ in pairs], [b for _, b in pairs]
    there = paired_difference(before, after, seed=1, method=method, resamples=400)
    back = paired_difference(after, before, seed=1, method=method, resamples=400)
    assert there.delta == pytest.approx(-back.delta, abs=1e-12)
    (lo, hi), (back_lo, back_hi) = bounds_of(there.interval), bounds_of(back.interval)
    assert -1 <= lo <= hi <= 1
    assert (lo, hi) == pytest.approx((-back_hi, -back_lo), abs=1e-6)


def test_equal_seeds_give_equal_intervals() -> None:
    before, after = [0.0, 0.1, 0.23, 0.41, 0.0], [0.5, 0.27, 0.91, 0.83, 0.76]
    first, second, third = (
        paired_difference(before, after, seed=seed, resamples=500) for seed in (3, 3, 4)
    )
    assert first == second
    assert first.interval != third.interval


def test_bca_agrees_with_scipy_and_moves_away_from_the_percentiles_of_skewed_data() -> None:
    values = np.random.default_rng(5).beta(0.2, 3.0, size=25)
    bca, percentile = (
        bounds_of(mean_interval(list(values), bounds=(0, 1), seed=1, method=m, resamples=20_000))
        for m in (IntervalMethod.BCA, IntervalMethod.PERCENTILE)
    )
    names: tuple[Literal["BCa", "percentile"], ...] = ("BCa", "percentile")
    for ours, name in zip((bca, percentile), names, strict=True):
        peer = scipy.stats.bootstrap(
            (values,), np.mean, method=name, n_resamples=20_000, rng=np.random.default_rng(2)
        ).confidence_interval
        assert ours == pytest.approx((peer.low, peer.high), abs=0.005)
    assert bca[1] - percentile[1] > 0.02


def test_clusters_widen_the_interval_of_repeated_tasks() -> None:
    before, after = [0.0] * 40, [1.0, 0.0, 1.0, 0.0] * 10
    alone = bounds_of(paired_difference(before, after, seed=1).interval)
    templates = [i % 4 for i in range(40)]
    together = bounds_of(paired_difference(before, after, templates, seed=1).interval)
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


def test_unanimous_tasks_do_not_give_an_interval_of_no_width() -> None:
    nothing = bounds_of(paired_difference([0.5] * 10, [0.5] * 10, seed=1).interval)
    assert nothing[0] < 0 < nothing[1]
    everything = bounds_of(paired_difference([0.0] * 10, [1.0] * 10, seed=1).interval)
    assert everything[0] < 0.6
    assert everything[1] == 1.0
    many = bounds_of(paired_difference([0.0] * 1000, [1.0] * 1000, seed=1).interval)
    assert everything[0] < many[0] < 1.0


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng, truth, covered = np.random.default_rng(11), 0.2, 0
    for repeat in range(300):
        before = rng.binomial(4, 0.3, size=50) / 4
        after = rng.binomial(4, 0.3 + truth, size=50) / 4
        paired = paired_difference(list(before), list(after), seed=repeat, resamples=400)
        lo, hi = bounds_of(paired.interval)
        covered += lo <= truth <= hi
    # 95 % of 300 is 285; a correct method falls below 265 less than once in 10,000 times
    assert covered >= 265


@pytest.mark.parametrize(
    ("before", "after"), [([], []), ([0.5], [0.5, 1.0]), ([0.0], [1.5]), ([math.nan], [1.0])]
)
def test_paired_difference_refuses_unusable_values(before: list[float], after: list[float]) -> None:
    with pytest.raises(UserError):
        paired_difference(before, after, seed=0)


# --- power -----------------------------------------------------------------------------------


@given(st.integers(1, 10_000), st.floats(0.01, 1), st.floats(0, 0.25), st.integers(1, 16))
def test_detectable_effect_inverts_the_sample_size(
    n: int, omega2: float, var: float, k: int
) -> None:
    effect = minimum_detectable_effect(n, omega2=omega2, var_after=var, samples_after=k)
    assert tasks_required(effect, omega2=omega2, var_after=var, samples_after=k) == pytest.approx(n)


def test_sample_size_refuses_a_difference_of_zero() -> None:
    with pytest.raises(UserError):
        tasks_required(0.0, omega2=0.1)
