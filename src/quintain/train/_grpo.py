"""Group-relative policy optimisation: raise the probability of what beat its peers.

Advantages come from rewards within a group; the loss is PPO's clipped ratio with a truncated
importance weight between sampler and trainer (GRPO, with the options of Dr. GRPO, RLOO and DAPO).

Invariant: token ids are those that were sampled, never encoded again; a trial that is not scored
takes part in neither baseline nor loss; only tasks of the train split are trained on.
Axes: T tokens of a pass.
"""

# ruff: noqa: N806, N815 (axis suffixes)
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from quintain.errors import UserError
from quintain.train._advantages import group_advantages
from quintain.train._checks import check_split, check_tokens
from quintain.train._losses import (
    clipped_loss,
    effective_share,
    importance_weights,
    k3_divergence,
    ratio,
    token_weights,
)
from quintain.train._packing import Packed, pack, score
from quintain.train._trainer import Trainer
from quintain.train._types import GrpoConfig, StepStats
from quintain.types import Group, Outcome, Trial, Turn

__all__ = ["grpo_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sequence:
    """One turn of one trial, as the loss sees it."""

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    advantage: float


@dataclass(slots=True)
class _Pass:
    """One forward and backward pass, and what later epochs need of the first."""

    packed: Packed
    advantages_T: torch.Tensor
    weights_T: torch.Tensor
    """Averaging weights."""
    sampler_T: torch.Tensor
    reference_T: torch.Tensor | None
    first_T: torch.Tensor | None = None
    """The trainer's log-probabilities before any update."""


@dataclass(slots=True)
class _Tally:
    """Gathers what the statistics are made of."""

    loss: float = 0.0
    clipped: int = 0
    seen: int = 0
    first: list[torch.Tensor] = field(default_factory=list)
    sampler: list[torch.Tensor] = field(default_factory=list)
    entropies: list[torch.Tensor] = field(default_factory=list)


def grpo_step(
    trainer: Trainer, groups: Sequence[Group], config: GrpoConfig, *, reference: Any = None
) -> StepStats:
    """Take one step (``config.epochs`` updates) on the groups that have something to teach.

    ``reference`` is the model that ``config.kl_weight`` holds the policy to.

    Raises `UserError` for a task that is not of the train split, for a scored trial without tokens
    or with tokens the model does not know, for missing log-probabilities when importance weights
    are asked for, and for a KL weight without a reference.
    """
    if config.kl_weight > 0 and reference is None:
        raise UserError("kl_weight is above 0 but there is no reference model")
    sequences, counts = _sequences(trainer, groups, config)
    if not sequences:
        trainer.step += 1
        return _stats(_Tally(), counts, config, updated=False)
    passes = _passes(trainer, sequences, config, reference)
    tally = _Tally()
    for epoch in range(config.epochs):
        for one in passes:
            _accumulate(trainer, one, config, tally, first_epoch=epoch == 0)
        counts.grad_norm, counts.lr = trainer.update(config.optimization)
    trainer.step += 1
    counts.nodes = sum(len(one.packed.tokens_N) for one in passes)
    return _stats(tally, counts, config, updated=True)


@dataclass(slots=True)
class _Counts:
    trials: int = 0
    skipped_groups: int = 0
    masked_trials: int = 0
    nodes: int = 0
    grad_norm: float = 0.0
    lr: float = 0.0


def _sequences(
    trainer: Trainer, groups: Sequence[Group], config: GrpoConfig
) -> tuple[list[_Sequence], _Counts]:
    """Check every trial, then list the turns that carry an advantage."""
    counts, sequences = _Counts(), []
    for group in groups:
        check_split(f"task {group.task.id}", group.task.split)
        rewards = [_reward(trial) for trial in group.trials_G]
        for trial, reward in zip(group.trials_G, rewards, strict=True):
            if reward is not None:
                _check(trial, trainer.vocabulary, config)
        counts.masked_trials += sum(reward is None for reward in rewards)
        advantages = group_advantages(rewards, baseline=config.baseline, scale=config.scale)
        if advantages is None:
            counts.skipped_groups += 1
            continue
        for trial, advantage in zip(group.trials_G, advantages, strict=True):
            if advantage is not None:
                counts.trials += 1
                sequences += [_sequence(turn, advantage) for turn in trial.trajectory.turns]
    sequences.sort(key=lambda s: (s.prompt_ids, s.token_ids))  # neighbours share prefixes
    return sequences, counts


def _reward(trial: Trial) -> float | None:
    scored = trial.verdict.outcome is Outcome.SCORED and trial.reward is not None
    return trial.reward.value if scored and trial.reward is not None else None


def _check(trial: Trial, vocabulary: int, config: GrpoConfig) -> None:
    name = f"trial {trial.id}"
    check_split(name, trial.split)
    if not math.isfinite(_reward(trial) or 0.0):
        raise UserError(f"{name}: its reward is not a finite number")
    turns = trial.trajectory.turns
    check_tokens(name, [t for turn in turns for t in turn.completion.token_ids_T], vocabulary)
    for turn in turns:
        completion = turn.completion
        check_tokens(f"{name}, a prompt", completion.prompt_token_ids, vocabulary)
        check_tokens(f"{name}, a turn", completion.token_ids_T, vocabulary)
        missing = len(completion.logprobs_T) != len(completion.token_ids_T)
        if missing and (completion.logprobs_T or config.importance_cap is not None):
            raise UserError(
                f"{name}: {len(completion.logprobs_T)} log-probabilities "
                f"for {len(completion.token_ids_T)} tokens",
                hint="set importance_cap to None for a sampler that reports none",
            )


def _sequence(turn: Turn, advantage: float) -> _Sequence:
    completion = turn.completion
    return _Sequence(
        prompt_ids=completion.prompt_token_ids,
        token_ids=completion.token_ids_T,
        logprobs=completion.logprobs_T or (math.nan,) * len(completion.token_ids_T),
        advantage=advantage,
    )


def _passes(
    trainer: Trainer, sequences: Sequence[_Sequence], config: GrpoConfig, reference: Any
) -> list[_Pass]:
    weights = token_weights([len(s.token_ids) for s in sequences], config.averaging)
    runs = pack(
        [s.prompt_ids + s.token_ids for s in sequences],
        [(False,) * len(s.prompt_ids) + (True,) * len(s.token_ids) for s in sequences],
        config.optimization.max_nodes,
    )
    passes = []
    for run in runs:
        members = [sequences[i] for i in run.members]
        lengths = torch.tensor([len(s.token_ids) for s in members])
        reference_T = None
        if config.kl_weight > 0:
            with torch.no_grad():
                scored = score(reference, run, temperature=config.temperature, bf16=trainer.bf16)
            reference_T = scored.logprobs_T
        passes.append(
            _Pass(
                packed=run,
                advantages_T=_spread([s.advantage for s in members], lengths),
                weights_T=_spread([weights[i] for i in run.members], lengths),
                sampler_T=torch.tensor(list(_chain(s.logprobs for s in members))),
                reference_T=reference_T,
            )
        )
    return passes


def _spread(values: Sequence[float], lengths: torch.Tensor) -> torch.Tensor:
    return torch.tensor(values).repeat_interleave(lengths)


def _chain(parts: Iterator[tuple[float, ...]]) -> Iterator[float]:
    for part in parts:
        yield from part


def _accumulate(
    trainer: Trainer, one: _Pass, config: GrpoConfig, tally: _Tally, *, first_epoch: bool
) -> None:
    """Add the gradient of one pass."""
    scored = score(trainer.model, one.packed, temperature=config.temperature, bf16=trainer.bf16)
    logprobs_T = scored.logprobs_T
    if one.first_T is None:
        one.first_T = logprobs_T.detach()
    loss_T, clipped_T = clipped_loss(
        ratio(logprobs_T, one.first_T), one.advantages_T, config.clip_low, config.clip_high
    )
    if config.importance_cap is not None:
        loss_T = loss_T * importance_weights(one.first_T, one.sampler_T, config.importance_cap)
    if one.reference_T is not None:
        loss_T = loss_T + config.kl_weight * k3_divergence(logprobs_T, one.reference_T)
    loss = (loss_T * one.weights_T).sum()
    loss.backward()  # type: ignore[no-untyped-call]  # torch does not type it
    tally.clipped += int(clipped_T.sum())
    tally.seen += len(clipped_T)
    if first_epoch:
        tally.loss += loss.item()
        tally.first.append(one.first_T)
        tally.sampler.append(one.sampler_T)
        tally.entropies.append(scored.entropies_T)


def _stats(tally: _Tally, counts: _Counts, config: GrpoConfig, *, updated: bool) -> StepStats:
    tokens = sum(len(part) for part in tally.first)
    ratio_error, kl, share, entropy = 0.0, 0.0, 1.0, 0.0
    if updated:
        first_T, sampler_T = torch.cat(tally.first), torch.cat(tally.sampler)
        entropy = float(torch.cat(tally.entropies).mean())
        known = sampler_T.isfinite()
        if bool(known.any()):
            first_T, sampler_T = first_T[known], sampler_T[known]
            ratio_error = float((ratio(first_T, sampler_T) - 1.0).abs().mean())
            kl = float(k3_divergence(sampler_T, first_T).mean())
            cap = math.inf if config.importance_cap is None else config.importance_cap
            share = effective_share(importance_weights(first_T, sampler_T, cap))
    return StepStats(
        updated=updated,
        loss=tally.loss,
        ratio_error=ratio_error,
        kl=kl,
        effective_share=share,
        clip_fraction=tally.clipped / max(tally.seen, 1),
        entropy=entropy,
        grad_norm=counts.grad_norm,
        lr=counts.lr,
        trials=counts.trials,
        tokens=tokens,
        nodes=counts.nodes,
        skipped_groups=counts.skipped_groups,
        masked_trials=counts.masked_trials,
    )
