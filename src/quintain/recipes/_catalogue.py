"""The recipes by name. The command line brings the name; below it everything is a value."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

import msgspec

from quintain.errors import UserError
from quintain.recipes._config import RunConfig
from quintain.recipes._smollm2 import smollm2
from quintain.recipes._tiny import tiny

__all__ = ["changed", "describe", "recipe"]

_RECIPES: Mapping[str, tuple[Callable[[], RunConfig], str]] = {
    "tiny": (tiny, "a model of about 1 M parameters, trained from nothing in minutes"),
    "smollm2": (smollm2, "SmolLM2-135M learns to write Python expressions that pass"),
}

_NOT_SHAPING = {"recipe", "seed", "threads", "sandboxes"}
"""Leaves that follow the command line or the machine."""


def recipe(name: str) -> RunConfig:
    """Return the config of a recipe; raises `UserError` for an unknown name."""
    if name not in _RECIPES:
        close = difflib.get_close_matches(name, _RECIPES, n=1)
        raise UserError(
            f"unknown recipe {name!r}",
            hint=f"did you mean {close[0]!r}?" if close else f"one of {', '.join(_RECIPES)}",
        )
    return _RECIPES[name][0]()


def describe() -> str:
    """List the recipes with their configs, for people."""
    lines = []
    for name, (make, text) in _RECIPES.items():
        lines.append(f"{name}: {text}")
        for key, value in msgspec.structs.asdict(make()).items():
            if key != "recipe":
                lines.append(f"    {key:18} {'no limit' if value is None else value}")
    return "\n".join(lines) + "\n"


def changed(config: Mapping[str, object]) -> dict[str, object]:
    """Return the leaves of a recorded config that differ from its recipe's."""
    standard = msgspec.to_builtins(recipe(str(config["recipe"])))
    return {
        key: value
        for key, value in config.items()
        if key not in _NOT_SHAPING and standard.get(key) != value
    }
