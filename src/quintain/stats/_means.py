"""Means with errors that respect clusters.

A cluster is a set of values that are not independent of each other: attempts at one task, tasks
of one template, issues of one repository. Treating them as independent makes every interval too
narrow. None of this corrects for looking at the data many times.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from quintain.errors import UserError
from quintain.stats._values import NotEstimable

__all__ = ["clustered_se", "effective_sample_size", "spearman", "standard_error"]


def standard_error(values: Sequence[float]) -> float | NotEstimable:
    """Return the standard error of the mean of independent values: √(Σ(s − s̄)² / (n(n − 1))).

    Source: the central limit theorem, as in Miller 2024, "Adding Error Bars to Evals".
    `NotEstimable` for fewer than 2 values.
    """
    n = len(values)
    if n < 2:
        return NotEstimable(reason="fewer than 2 values")
    mean = math.fsum(values) / n
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n * (n - 1)))


def clustered_se(values: Sequence[float], clusters: Sequence[Hashable]) -> float | NotEstimable:
    """Return the standard error of a clustered mean: √(Σ_c (Σ_{i∈c} (s_i − s̄))²) / n.

    ``clusters[i]`` names the cluster of ``values[i]``. No small-sample factor is applied, so it
    is a little too small for few clusters.
    Source: Liang and Zeger 1986; Miller 2024, "Adding Error Bars to Evals".
    `NotEstimable` for fewer than 2 clusters; `UserError` when the lengths differ.
    """
    sums, sizes = cluster_totals(values, clusters)
    if len(sums) < 2:
        return NotEstimable(reason="fewer than 2 clusters")
    mean = float(sums.sum() / sizes.sum())
    return float(np.sqrt(np.square(sums - mean * sizes).sum()) / sizes.sum())


def cluster_totals(
    values: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum and the size of each cluster, in order of first appearance."""
    if len(values) != len(clusters):
        raise UserError(f"{len(values)} values, but {len(clusters)} cluster names")
    index = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    member = np.fromiter((index[name] for name in clusters), dtype=np.intp, count=len(clusters))
    sums = np.bincount(member, weights=np.asarray(values, np.float64), minlength=len(index))
    return sums.astype(np.float64), np.bincount(member, minlength=len(index)).astype(np.float64)


def effective_sample_size(weights: Sequence[float]) -> float:
    """Return how many equally weighted draws the weighted ones are worth: (Σw)² / Σw².

    Between 1 and n for weights of which at least one is positive; n when all are equal.
    Source: Kish 1965, "Survey Sampling"; Kong 1992 for importance weights.
    Raises `UserError` when no weight is positive, or one is negative or not finite.
    """
    array = np.asarray(weights, np.float64)
    if not (np.isfinite(array).all() and (array >= 0).all() and (array > 0).any()):
        raise UserError("effective sample size: weights must be finite, not negative, not all 0")
    scaled = array / array.max()  # squares of large weights overflow
    return float(scaled.sum() ** 2 / np.square(scaled).sum())


def spearman(x: Sequence[float], y: Sequence[float]) -> float | NotEstimable:
    """Return the rank correlation, −1 to 1, ties given their average rank.

    Source: Spearman 1904, computed as Pearson's correlation of the ranks.
    `NotEstimable` for fewer than 2 pairs or a constant side; `UserError` when the lengths differ.
    """
    if len(x) != len(y):
        raise UserError(f"Spearman: {len(x)} values on one side, {len(y)} on the other")
    if len(set(x)) < 2 or len(set(y)) < 2:
        return NotEstimable(reason="one side does not vary")
    rank_x, rank_y = _ranks(x), _ranks(y)
    centred_x, centred_y = rank_x - rank_x.mean(), rank_y - rank_y.mean()
    scale = math.sqrt(float(centred_x @ centred_x) * float(centred_y @ centred_y))
    return float(centred_x @ centred_y) / scale


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Rank from 1, ties given their average rank."""
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    averages = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(averages[place], np.float64)
