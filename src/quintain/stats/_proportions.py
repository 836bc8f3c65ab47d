"""Counts and proportions: pass@k, Wilson, zero events, McNemar, Rogan–Gladen.

All functions are exact or closed-form and take counts. They assume independent trials; for
repeated attempts at the same tasks use the clustered functions of `quintain.stats` instead.
"""

from __future__ import annotations

import math

from scipy.special import bdtr, ndtri

from quintain.errors import UserError
from quintain.stats._values import Interval

__all__ = ["mcnemar_exact", "pass_at_k", "rogan_gladen", "wilson", "zero_events_upper"]


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate, without bias, the chance that one of ``k`` attempts passes.

    ``c`` of ``n`` attempts passed: 1 − C(n−c, k) / C(n, k).
    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1.
    Raises `UserError` when k > n, or for counts that cannot be.

    >>> round(pass_at_k(10, 3, 1), 12)
    0.3
    """
    _check_counts("pass@k", c, n)
    if k < 1:
        raise UserError(f"pass@k: k is {k}, but at least 1 attempt is needed")
    if k > n:
        raise UserError(
            f"pass@k: k is {k}, but only {n} attempts were made",
            hint=f"sample at least {k} attempts, or ask for k ≤ {n}",
        )
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def wilson(k: int, n: int, confidence: float = 0.95) -> Interval:
    """Return the score interval of a proportion, ``k`` of ``n``.

    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    Raises `UserError` for counts that cannot be.
    """
    _check_counts("Wilson interval", k, n)
    z = float(ndtri(0.5 + _checked_confidence(confidence) / 2))
    p, z2 = k / n, z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return Interval(lo=max(0.0, centre - half), hi=min(1.0, centre + half), confidence=confidence)


def zero_events_upper(n: int, confidence: float = 0.95) -> float:
    """Bound a rate from above, one-sided, after ``n`` trials without a single event.

    1 − (1 − confidence)^(1/n), of which the "rule of three", 3/n, is the approximation.
    Source: Hanley and Lippman-Hand 1983, "If Nothing Goes Wrong, Is Everything All Right?".
    Raises `UserError` when no trial was made.

    >>> round(zero_events_upper(59), 3)
    0.05
    """
    if n < 1:
        raise UserError(f"zero-events bound: {n} trials say nothing about a rate")
    # expm1 keeps the bound positive for very large n
    return -math.expm1(math.log1p(-_checked_confidence(confidence)) / n)


def mcnemar_exact(b: int, c: int) -> float:
    """Return the two-sided p-value of paired passes and failures.

    ``b`` tasks passed before and failed after, ``c`` the other way round; tasks that agree say
    nothing. p = 2 · P(Bin(b + c, ½) ≤ min(b, c)), at most 1; 1 when no task changed.
    Source: McNemar 1947; the exact form is the sign test on the discordant pairs.
    """
    if b < 0 or c < 0:
        raise UserError(f"McNemar: counts cannot be negative, got {b} and {c}")
    return min(1.0, 2.0 * float(bdtr(min(b, c), b + c, 0.5)))


def rogan_gladen(p_obs: float, sensitivity: float, specificity: float) -> float:
    """Correct an observed pass rate for a judge that errs.

    (p_obs + Sp − 1) / (Se + Sp − 1), cut to [0, 1]. ``sensitivity`` is the share of right
    submissions that the judge passes, ``specificity`` the share of wrong ones that it fails;
    the correction does not carry the uncertainty of either.
    Source: Rogan and Gladen 1978, "Estimating Prevalence from the Results of a Screening Test".
    Raises `UserError` when the judge is no better than chance (Se + Sp ≤ 1).
    """
    shares = {"p_obs": p_obs, "sensitivity": sensitivity, "specificity": specificity}
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise UserError(f"Rogan–Gladen: {name} is {value}, not a share between 0 and 1")
    if sensitivity + specificity <= 1:
        raise UserError(
            f"Rogan–Gladen: a judge with sensitivity {sensitivity} and specificity {specificity} "
            "is no better than chance",
            hint="no correction can help; repair the judge",
        )
    corrected = (p_obs + specificity - 1) / (sensitivity + specificity - 1)
    return min(1.0, max(0.0, corrected))


def _check_counts(what: str, k: int, n: int) -> None:
    if n < 1 or not 0 <= k <= n:
        raise UserError(f"{what}: {k} of {n} is not a count of passes among at least one attempt")


def _checked_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise UserError(f"confidence is {confidence}, but lies between 0 and 1, for instance 0.95")
    return confidence
