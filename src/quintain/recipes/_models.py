"""The models of the recipes, and how each is talked to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quintain.interface import Interface
from quintain.recipes._config import RunConfig
from quintain.recipes._draws import CODE, MATHS
from quintain.tasks import bare_interface, completion_interface
from quintain.types import Split

__all__ = ["cache_dir", "interfaces", "load", "model_name"]

_TOKENIZER_TASKS = 150
"""Tasks of each level whose text the tiny tokenizer is made from."""


def cache_dir() -> Path:
    """Return where converted weights are kept: $QUINTAIN_CACHE, or the user's cache directory."""
    named = os.environ.get("QUINTAIN_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "quintain"


def model_name(config: RunConfig) -> str:
    """Return the name of a recipe's model, for people."""
    return "A model of 1 M parameters" if config.recipe == "tiny" else "SmolLM2-135M-Instruct"


def load(config: RunConfig) -> tuple[Any, Any]:
    """Return (model, tokenizer) of a recipe's base model, weights in fp32."""
    from quintain.policy import load_model, smollm2_dir, tiny_model

    if config.recipe == "tiny":
        return tiny_model(_texts(config), config.seed)
    return load_model(smollm2_dir(cache_dir() / "models"))


def interfaces(config: RunConfig) -> Callable[[str], Interface]:
    """Return how the recipe's model is asked: bare if it was made from nothing, else few-shot."""
    if config.recipe == "tiny":
        return lambda _: bare_interface()
    return completion_interface


def _texts(config: RunConfig) -> list[str]:
    """Gather training text for a tokenizer; held-out tasks take no part."""
    families = [CODE] if config.code_share == 1 else [CODE, MATHS]
    tasks = [
        family.generate(level, Split.TRAIN, index, config.seed)
        for family in families
        for level in range(1, config.levels + 1)
        for index in range(_TOKENIZER_TASKS)
    ]
    return [f"{task.prompt}\n{task.gold}\n" for task in tasks]
