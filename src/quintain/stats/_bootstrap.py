"""Intervals of a mean and of a paired difference, by resampling clusters.

Equal input and seed give equal intervals on every machine. With fewer than 2 clusters the
interval is `NotEstimable`. When all clusters agree exactly, resampling would report a width of 0;
the bound for zero events takes its place (see `mean_interval`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from quintain.errors import UserError
from quintain.stats._means import cluster_totals, clustered_se
from quintain.stats._proportions import zero_events_upper
from quintain.stats._values import Interval, NotEstimable
from quintain.types import Noun

__all__ = ["IntervalMethod", "PairedDifference", "mean_interval", "paired_difference"]

_CHUNK = 1_000_000
"""Cells of a resampling matrix held at once (8 MB)."""

_SAME = 1e-9
"""Rates are multiples of 1/samples; a smaller spread is rounding, 0.3 − 0.1 against 0.2 − 0."""

Floats = NDArray[np.float64]


class IntervalMethod(StrEnum):
    """How an interval is made."""

    BCA = "bca"
    """Bias-corrected and accelerated bootstrap: Efron 1987."""
    PERCENTILE = "percentile"
    """Percentile bootstrap: Efron 1979."""
    NORMAL = "normal"
    """Mean ± z · clustered standard error; for many clusters."""


class PairedDifference(Noun, frozen=True, kw_only=True):
    """The mean of after − before over paired values."""

    delta: float
    interval: Interval | NotEstimable
    se: float | None
    """Clustered standard error; None when it cannot be estimated."""
    n: int
    """Pairs."""
    clusters: int


def paired_difference(
    before: Sequence[float],
    after: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int,
    method: IntervalMethod = IntervalMethod.BCA,
    confidence: float = 0.95,
    resamples: int = 5000,
) -> PairedDifference:
    """Estimate the mean of ``after[i] − before[i]``, values between 0 and 1.

    Average the samples of a task first: one pair a task. Without ``clusters`` every pair is one.
    Source: Miller 2024, "Adding Error Bars to Evals" (paired, clustered); resampling
    of whole clusters after Davison and Hinkley 1997,
    "Bootstrap Methods and their Application".
    Raises `UserError` without pairs, when lengths differ, or for values outside [0, 1].
    """
    if len(before) != len(after):
        raise UserError(f"paired difference: {len(before)} values before, {len(after)} after")
    if not all(0 <= value <= 1 for value in (*before, *after)):
        raise UserError("paired difference: values must lie between 0 and 1")
    names: Sequence[Hashable] = range(len(before)) if clusters is None else clusters
    differences = [b - a for a, b in zip(before, after, strict=True)]
    interval = mean_interval(
        differences, names, bounds=(-1.0, 1.0), seed=seed,
        method=method, confidence=confidence, resamples=resamples,
    )  # fmt: skip
    se = clustered_se(differences, names)
    return PairedDifference(
        delta=math.fsum(differences) / len(differences),
        interval=interval,
        se=None if isinstance(se, NotEstimable) else se,
        n=len(differences),
        clusters=len(set(names)),
    )


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    bounds: tuple[float, float],
    seed: int,
    method: IntervalMethod = IntervalMethod.BCA,
    confidence: float = 0.95,
    resamples: int = 5000,
) -> Interval | NotEstimable:
    """Return an interval of the mean of values within ``bounds``, resampling whole clusters.

    When every value is the same, v, nothing varies under resampling. Then at most a share
    p = 1 − (α/2)^(1/clusters) of clusters can be different without showing up here
    (`zero_events_upper`), and those lie within the bounds: the interval is
    v − p(v − lowest) to v + p(highest − v).
    Raises `UserError` without values, for values outside ``bounds``, or impossible settings.
    """
    lowest, highest = bounds
    if not values:
        raise UserError("interval: there are no values")
    if not all(lowest <= value <= highest for value in values):
        raise UserError(f"interval: values must lie between {lowest} and {highest}")
    if not 0 < confidence < 1 or resamples < 1:
        raise UserError("interval: confidence lies between 0 and 1, resamples is at least 1")
    names: Sequence[Hashable] = range(len(values)) if clusters is None else clusters
    sums, sizes = cluster_totals(values, names)
    if len(sums) < 2:
        return NotEstimable(reason="fewer than 2 clusters")
    if max(values) - min(values) < _SAME:
        share, v = zero_events_upper(len(sums), 0.5 + confidence / 2), values[0]
        lo, hi = v - share * (v - lowest), v + share * (highest - v)
    elif method is IntervalMethod.NORMAL:
        lo, hi = _normal(values, names, confidence)
    else:
        lo, hi = _bootstrap(sums, sizes, method, confidence, resamples, seed)
    return Interval(lo=max(lowest, lo), hi=min(highest, hi), confidence=confidence)


def _normal(
    values: Sequence[float], clusters: Sequence[Hashable], confidence: float
) -> tuple[float, float]:
    se = clustered_se(values, clusters)
    assert not isinstance(se, NotEstimable)  # noqa: S101 - the caller saw 2 clusters
    mean = math.fsum(values) / len(values)
    half = float(ndtri(0.5 + confidence / 2)) * se
    return mean - half, mean + half


def _bootstrap(
    sums: Floats,
    sizes: Floats,
    method: IntervalMethod,
    confidence: float,
    resamples: int,
    seed: int,
) -> tuple[float, float]:
    draws = _resampled_means(sums, sizes, resamples, seed)
    tails = np.array([0.5 - confidence / 2, 0.5 + confidence / 2])
    if method is IntervalMethod.BCA:
        tails = _bca_tails(draws, sums, sizes, tails)
    lo, hi = np.quantile(draws, tails)
    return float(lo), float(hi)


def _resampled_means(sums: Floats, sizes: Floats, resamples: int, seed: int) -> Floats:
    """Means of ``resamples`` draws of as many clusters, with replacement."""
    generator = np.random.Generator(np.random.PCG64(seed))
    count = len(sums)
    even = np.full(count, 1.0 / count)
    means, step = [], max(1, _CHUNK // count)
    for start in range(0, resamples, step):
        times = generator.multinomial(count, even, size=min(step, resamples - start))
        means.append((times @ sums) / (times @ sizes))
    return np.concatenate(means)


def _bca_tails(draws: Floats, sums: Floats, sizes: Floats, tails: Floats) -> Floats:
    """Shift the tail shares for bias and skew (Efron and Tibshirani 1993, chapter 14)."""
    mean = sums.sum() / sizes.sum()
    tolerance = 1e-12
    below = np.mean(draws < mean - tolerance) + 0.5 * np.mean(np.abs(draws - mean) <= tolerance)
    edge = 0.5 / len(draws)
    bias = ndtri(np.clip(below, edge, 1 - edge))
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    centred = left_out.mean() - left_out
    spread = np.square(centred).sum()
    skew = (centred**3).sum() / (6 * spread**1.5) if spread > 0 else 0.0
    z = bias + ndtri(tails)
    if (skew * z >= 1).any():  # a few clusters dominate; the correction has no meaning here
        return tails
    shifted = ndtr(bias + z / (1 - skew * z))
    return np.sort(np.asarray(shifted, np.float64))
