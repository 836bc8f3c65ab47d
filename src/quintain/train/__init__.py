"""Training: SFT on demonstrations and GRPO-family reinforcement on groups.

`Trainer` is the state; `sft_step` and `grpo_step` move it; `save_checkpoint` and `load_checkpoint`
keep it. `LocalPolicy` trains and samples one model in turns. Everything here is loaded when it is
first named, so importing this package does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quintain.train._advantages import group_advantages
    from quintain.train._checkpoint import latest, load_checkpoint, save_checkpoint
    from quintain.train._grpo import grpo_step
    from quintain.train._local_policy import LocalPolicy
    from quintain.train._sft import demonstration, sft_step
    from quintain.train._trainer import Trainer
    from quintain.train._types import (
        Averaging,
        Baseline,
        Example,
        GrpoConfig,
        Optimization,
        Scale,
        SftStats,
        StepStats,
    )

__all__ = [
    "Averaging",
    "Baseline",
    "Example",
    "GrpoConfig",
    "LocalPolicy",
    "Optimization",
    "Scale",
    "SftStats",
    "StepStats",
    "Trainer",
    "demonstration",
    "group_advantages",
    "grpo_step",
    "latest",
    "load_checkpoint",
    "save_checkpoint",
    "sft_step",
]

_MODULES = {
    "_advantages": ("group_advantages",),
    "_checkpoint": ("latest", "load_checkpoint", "save_checkpoint"),
    "_grpo": ("grpo_step",),
    "_local_policy": ("LocalPolicy",),
    "_sft": ("demonstration", "sft_step"),
    "_trainer": ("Trainer",),
    "_types": (
        "Averaging",
        "Baseline",
        "Example",
        "GrpoConfig",
        "Optimization",
        "Scale",
        "SftStats",
        "StepStats",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
