"""The mathematics of policy-gradient losses, token by token. Pure functions of tensors.

Invariant: log-ratios are clamped to ±20 before they are exponentiated, so no term is infinite.
Axis: T tokens of all completions, one after the other.
"""

# ruff: noqa: N803, N806 (axis suffixes)
from __future__ import annotations

from collections.abc import Sequence

import torch

from quintain.train._types import Averaging

__all__ = [
    "clipped_loss",
    "effective_share",
    "importance_weights",
    "k3_divergence",
    "ratio",
    "token_weights",
]

_LOG_RATIO_BOUND = 20.0


def ratio(logprobs_T: torch.Tensor, base_T: torch.Tensor) -> torch.Tensor:
    """Return the probability of each token over its probability under the base."""
    return (logprobs_T - base_T).clamp(-_LOG_RATIO_BOUND, _LOG_RATIO_BOUND).exp()


def clipped_loss(
    ratio_T: torch.Tensor, advantages_T: torch.Tensor, clip_low: float, clip_high: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (loss_T, clipped_T): PPO's pessimistic surrogate, and where it has no gradient.

    Loss is −min(ρA, clip(ρ, 1−low, 1+high)A): Schulman et al. 2017, with DAPO's two bounds.
    """
    bounded_T = ratio_T.clamp(1.0 - clip_low, 1.0 + clip_high)
    plain_T, clipped_T = ratio_T * advantages_T, bounded_T * advantages_T
    return -torch.minimum(plain_T, clipped_T), clipped_T < plain_T


def importance_weights(
    trainer_T: torch.Tensor, sampler_T: torch.Tensor, cap: float
) -> torch.Tensor:
    """Return min(trainer's / sampler's probability, cap) for each token, without gradient.

    Corrects for a sampler whose numbers differ from the trainer's (truncated importance sampling).
    """
    return ratio(trainer_T.detach(), sampler_T).clamp(max=cap)


def k3_divergence(logprobs_T: torch.Tensor, other_T: torch.Tensor) -> torch.Tensor:
    """Estimate the divergence from ``other`` on tokens drawn from ``logprobs``: e^d − d − 1.

    Here d = log other − log self; never negative (Schulman, "Approximating KL divergence").
    """
    log_T = (other_T - logprobs_T).clamp(-_LOG_RATIO_BOUND, _LOG_RATIO_BOUND)
    return torch.expm1(log_T) - log_T


def effective_share(weights_T: torch.Tensor) -> float:
    """Return (Σw)² / (n Σw²): 1 when all weights are equal, 1/n when one outweighs all."""
    weights_T = weights_T.double()
    return float(weights_T.sum() ** 2 / (len(weights_T) * (weights_T**2).sum()))


def token_weights(lengths: Sequence[int], averaging: Averaging) -> list[float]:
    """Return the weight of each completion's tokens; all tokens' weights sum to 1."""
    if averaging is Averaging.TOKEN:
        return [1.0 / sum(lengths)] * len(lengths)
    return [1.0 / (len(lengths) * length) for length in lengths]
