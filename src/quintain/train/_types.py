"""What training is told and what it reports.

Invariant: a `StepStats` describes the tokens that were trained on; skipped groups and masked trials
are counted, never averaged in.
"""

from __future__ import annotations

from enum import StrEnum

from quintain.types import Noun, Split

__all__ = [
    "Averaging",
    "Baseline",
    "Example",
    "GrpoConfig",
    "Optimization",
    "Scale",
    "SftStats",
    "StepStats",
]


class Baseline(StrEnum):
    """What is subtracted from a reward to make an advantage."""

    MEAN = "mean"
    """The group's mean (GRPO)."""
    LEAVE_ONE_OUT = "leave_one_out"
    """The mean of the other trials (RLOO)."""


class Scale(StrEnum):
    """What a centred reward is divided by."""

    STD = "std"
    """The group's standard deviation (GRPO): easy and hard tasks pull alike."""
    NONE = "none"
    """Nothing (Dr. GRPO): a task pulls by its spread of rewards."""


class Averaging(StrEnum):
    """How the losses of tokens become one number."""

    TOKEN = "token"  # noqa: S105
    """Every token weighs the same (DAPO)."""
    SEQUENCE = "sequence"
    """Every completion weighs the same, so tokens of long ones count less (GRPO)."""


class Optimization(Noun, frozen=True, kw_only=True):
    """How one step moves the weights: AdamW without weight decay."""

    lr: float
    warmup_steps: int = 0
    """The learning rate grows linearly over so many steps of the trainer."""
    max_grad_norm: float = 1.0
    max_nodes: int = 1024
    """Tokens of one forward and backward pass, shared prefixes counted once. Bounds memory; does
    not change the result beyond rounding."""


class GrpoConfig(Noun, frozen=True, kw_only=True):
    """One step of reinforcement on groups."""

    optimization: Optimization
    temperature: float = 1.0
    """Of the sampling that made the trials."""
    epochs: int = 1
    """Updates on the same trials. With one, every ratio is 1 and nothing is clipped."""
    clip_low: float = 0.2
    clip_high: float = 0.28
    """Above ``clip_low`` it lets unlikely tokens grow (DAPO's clip-higher)."""
    baseline: Baseline = Baseline.MEAN
    scale: Scale = Scale.STD
    averaging: Averaging = Averaging.TOKEN
    importance_cap: float | None = 2.0
    """Tokens are weighted by min(trainer's / sampler's probability, cap); None leaves it out."""
    kl_weight: float = 0.0
    """Weight of the divergence from a reference model; above 0 a reference must be given."""


class Example(Noun, frozen=True, kw_only=True):
    """A token sequence to imitate, and which of its tokens the policy should write."""

    name: str
    """For errors, for instance the task's id."""
    split: Split
    token_ids_T: tuple[int, ...]  # noqa: N815
    mask_T: tuple[bool, ...]  # noqa: N815


class SftStats(Noun, frozen=True, kw_only=True):
    """What one supervised step did."""

    loss: float
    """Mean negative log-probability of the masked-in tokens, nats, before the update."""
    tokens: int
    nodes: int
    """Tokens computed after shared prefixes were merged."""
    grad_norm: float
    """Before clipping."""
    lr: float


class StepStats(Noun, frozen=True, kw_only=True):
    """What one reinforcement step did; means are over trained tokens of the first epoch."""

    updated: bool
    """False when no group had anything to teach: the weights are as they were."""
    loss: float
    ratio_error: float
    """Mean |ratio − 1| between trainer and sampler on sampled tokens: their numerical mismatch."""
    kl: float
    """Estimated divergence of trainer from sampler, nats per token (Schulman's k3)."""
    effective_share: float
    """Effective sample size of the importance weights over their number; 1 is best."""
    clip_fraction: float
    """Share of tokens whose gradient the clip removed, over all epochs."""
    entropy: float
    """Of the trainer's distribution at sampled tokens, nats."""
    grad_norm: float
    """Before clipping; of the last epoch."""
    lr: float
    trials: int
    """Trained on."""
    tokens: int
    nodes: int
    """Tokens computed after shared prefixes were merged."""
    skipped_groups: int
    """All rewards equal, or fewer than two scored trials."""
    masked_trials: int
    """Not scored: left out of baseline and loss."""
