"""How many tasks are needed, and how small a change could have been seen.

Both functions speak of a paired comparison: two policies, the same tasks, several samples a task.
"""

from __future__ import annotations

import math

from scipy.special import ndtri

from quintain.errors import UserError

__all__ = ["minimum_detectable_effect", "tasks_required"]


def tasks_required(
    delta: float,
    *,
    omega2: float,
    var_before: float = 0.0,
    var_after: float = 0.0,
    samples_before: int = 1,
    samples_after: int = 1,
    confidence: float = 0.95,
    power: float = 0.8,
) -> float:
    """Return the tasks needed to see a true paired difference of ``delta``; round the figure up.

    n = (z_{1−α/2} + z_power)² · (ω² + σ_A²/K_A + σ_B²/K_B) / δ². ``omega2`` is the variance of
    the per-task difference of true pass rates, ``var_*`` the mean variance of one sample within
    a task, ``samples_*`` the samples drawn for each task.
    Source: Miller 2024, "Adding Error Bars to Evals", on power.
    Raises `UserError` for a difference of 0 or impossible arguments.
    """
    if delta == 0:
        raise UserError("sample size: no number of tasks shows a difference of 0")
    variance = _variance(omega2, var_before, samples_before, var_after, samples_after)
    return _z_sum(confidence, power) ** 2 * variance / delta**2


def minimum_detectable_effect(
    n: int,
    *,
    omega2: float,
    var_before: float = 0.0,
    var_after: float = 0.0,
    samples_before: int = 1,
    samples_after: int = 1,
    confidence: float = 0.95,
    power: float = 0.8,
) -> float:
    """Return the smallest true paired difference that ``n`` tasks show with the given power.

    The inverse of `tasks_required`, with the same arguments, source and errors.
    """
    if n < 1:
        raise UserError(f"minimum detectable effect: {n} tasks show nothing")
    variance = _variance(omega2, var_before, samples_before, var_after, samples_after)
    return _z_sum(confidence, power) * math.sqrt(variance / n)


def _z_sum(confidence: float, power: float) -> float:
    for name, value in (("confidence", confidence), ("power", power)):
        if not 0 < value < 1:
            raise UserError(f"sample size: {name} is {value}, but lies between 0 and 1")
    return float(ndtri(0.5 + confidence / 2) + ndtri(power))


def _variance(omega2: float, var_a: float, k_a: int, var_b: float, k_b: int) -> float:
    if min(omega2, var_a, var_b) < 0 or min(k_a, k_b) < 1:
        raise UserError("sample size: variances are at least 0, samples a task at least 1")
    return omega2 + var_a / k_a + var_b / k_b
