"""What a run is made of: one typed value, a dozen leaves, every one of them recorded.

A recipe is a function that returns a `RunConfig`; ``--set key=value`` replaces leaves. Unknown keys
and values outside their range are refused before anything is written.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from quintain.errors import UserError
from quintain.tasks import FAMILIES
from quintain.types import Noun

__all__ = ["Precision", "RunConfig", "apply_overrides", "check", "cores"]


class Precision(StrEnum):
    """What the forward and backward passes compute in; weights are kept in fp32 either way."""

    FP32 = "fp32"
    BF16 = "bf16"


class RunConfig(Noun, frozen=True, kw_only=True):
    """Everything that shapes a run. Its digest is in the manifest."""

    recipe: str
    seed: int = 0
    precision: Precision
    threads: int
    """Cores that torch may use."""
    sandboxes: int
    """Executions at once."""

    code_share: float
    """Share of training tasks from the code family; the rest are maths."""
    levels: int
    """Hardest level that is trained and measured; levels run from 1."""
    sft_steps: int
    sft_batch: int
    """Demonstrations a step."""
    sft_lr: float
    sft_wrong_share: float
    """Share of demonstrations that show a known-wrong answer: leaves reinforcement something to
    sharpen, as a supervised model with clean data on an easy family would not."""
    grpo_steps: int
    batch_size: int
    """Completions that the sampler draws at once."""
    grpo_prompts: int
    """Tasks a step."""
    grpo_samples: int
    """Attempts at each task: the group."""
    grpo_lr: float
    temperature: float
    """Of training and of sampled evaluation."""

    held_out_code: int
    """Held-out problems of the code family."""
    held_out_maths: int
    held_out_samples: int
    """Sampled attempts at each held-out problem, besides the greedy one."""
    probe_every: int
    """Steps between looks at a fixed part of the held-out set, for the curve."""
    probe_tasks: int
    checkpoint_every: int
    """Steps between checkpoints."""

    max_trials: int | None = None
    """Stop training so that no more than this many trials are made, evaluation included."""
    max_minutes: float | None = None
    """Stop training so that the final evaluation still fits into this time."""


_HARDEST = max(family.levels for family in FAMILIES)

_AT_LEAST_ONE = (
    "threads",
    "sandboxes",
    "levels",
    "sft_batch",
    "batch_size",
    "grpo_prompts",
    "held_out_code",
    "held_out_samples",
    "probe_every",
    "probe_tasks",
    "checkpoint_every",
    "max_trials",
)
_NOT_NEGATIVE = ("seed", "sft_steps", "grpo_steps", "held_out_maths")
_POSITIVE = ("sft_lr", "grpo_lr", "temperature", "max_minutes")
_SHARES = ("code_share", "sft_wrong_share")


def check(config: RunConfig) -> RunConfig:
    """Return the config unchanged; raises `UserError` naming the first key out of its range."""
    wanted: list[tuple[str, str, Callable[[float], bool]]] = (
        [(key, "at least 1", lambda v: v >= 1) for key in _AT_LEAST_ONE]
        + [(key, "0 or more", lambda v: v >= 0) for key in _NOT_NEGATIVE]
        + [(key, "above 0", lambda v: v > 0) for key in _POSITIVE]
        + [(key, "between 0 and 1", lambda v: 0 <= v <= 1) for key in _SHARES]
        + [("grpo_samples", "at least 2", lambda v: v >= 2)]
        + [("seed", "below 2**63", lambda v: v < 2**63)]
        + [("levels", f"at most {_HARDEST}", lambda v: v <= _HARDEST)]
    )
    for key, text, holds in wanted:
        value = getattr(config, key)
        # NaN holds nowhere; an infinite number could not be read back from the manifest
        if value is not None and not (math.isfinite(value) and holds(value)):
            raise UserError(f"{key}={value}: must be {text}", hint=_where(key))
    return config


def apply_overrides(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """Replace leaves by ``key=value`` texts.

    Raises `UserError` for an unknown key, a value of the wrong type or one out of range.
    """
    changes: dict[str, object] = {}
    fields = {field.name: field for field in msgspec.structs.fields(RunConfig)}
    for text in overrides:
        key, separator, value = text.partition("=")
        if not separator:
            raise UserError(f"--set {text}: no '='", hint="write --set key=value")
        if key not in fields or key == "recipe":
            close = difflib.get_close_matches(key, fields, n=1)
            keys = ", ".join(name for name in fields if name != "recipe")
            raise UserError(
                f"--set {text}: unknown key {key!r}",
                hint=f"did you mean {close[0]!r}?" if close else f"the keys are {keys}",
            )
        try:
            changes[key] = msgspec.convert(value, type=fields[key].type, strict=False)
        except msgspec.ValidationError as error:
            raise UserError(f"--set {text}: {error}", hint=_where(key)) from error
    return check(msgspec.structs.replace(config, **changes))


def _where(key: str) -> str:
    flags = {"max_trials": "--max-trials", "max_minutes": "--max-minutes", "seed": "--seed"}
    return f"change it with {flags[key]}" if key in flags else f"change it with --set {key}=…"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
