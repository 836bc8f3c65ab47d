"""From what a person asked for to a plan that can be run; refuses what cannot.

Nothing is written here, so a mistake leaves no trace.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from quintain.codec import digest
from quintain.errors import TaskError, UserError
from quintain.log import read_manifest
from quintain.recipes._catalogue import recipe as find_recipe
from quintain.recipes._config import RunConfig, apply_overrides, check
from quintain.recipes._draws import first_state, held_out, training_tasks
from quintain.types import Noun

__all__ = ["Plan", "prepare", "resume"]


class Plan(Noun, frozen=True, kw_only=True):
    """A run that may begin."""

    config: RunConfig
    run_dir: str
    resumed: bool
    max_trials: int | None
    """Budget of this life of the run; the recorded config keeps the first one."""
    max_minutes: float | None


def prepare(
    recipe: str,
    *,
    overrides: Sequence[str] = (),
    out: Path | None = None,
    seed: int | None = None,
    max_trials: int | None = None,
    max_minutes: float | None = None,
) -> Plan:
    """Check a new run; raises `UserError` for anything that would stop it later."""
    config = apply_overrides(find_recipe(recipe), overrides)
    flags = {"seed": seed, "max_trials": max_trials, "max_minutes": max_minutes}
    given = {key: value for key, value in flags.items() if value is not None}
    config = check(msgspec.structs.replace(config, **given))
    _require_extras()
    _check_draws(config)
    run_dir = out or Path("runs") / f"{recipe}-{time.strftime('%Y%m%d-%H%M%S')}"
    _check_free(run_dir)
    return Plan(
        config=config,
        run_dir=str(run_dir),
        resumed=False,
        max_trials=config.max_trials,
        max_minutes=config.max_minutes,
    )


def resume(
    run_dir: Path,
    *,
    recipe: str | None = None,
    max_trials: int | None = None,
    max_minutes: float | None = None,
) -> Plan:
    """Check that the run in a directory can go on; raises `UserError` when it cannot."""
    manifest = read_manifest(run_dir)
    try:
        config = msgspec.convert(dict(manifest.config), RunConfig)
    except msgspec.ValidationError as error:
        raise UserError(
            f"{run_dir / 'manifest.json'}: config: {error}",
            hint="resume with the version that began the run",
        ) from error
    if digest(config) != manifest.config_digest or config.seed != manifest.seed:
        raise UserError(
            f"{run_dir / 'manifest.json'}: config: does not fit config_digest and seed beside it",
            hint="put the file back as the run wrote it, or begin a new run with other values",
        )
    find_recipe(config.recipe)
    if recipe is not None and recipe != config.recipe:
        raise UserError(
            f"{run_dir}: is a run of {config.recipe!r}, not of {recipe!r}",
            hint="leave the recipe out when resuming",
        )
    given = {"max_trials": max_trials, "max_minutes": max_minutes}
    check(msgspec.structs.replace(config, **{k: v for k, v in given.items() if v is not None}))
    _require_extras()
    if not os.access(run_dir, os.W_OK):
        raise UserError(f"{run_dir}: cannot be written", hint="check its owner and mode")
    return Plan(
        config=config,
        run_dir=str(run_dir),
        resumed=True,
        max_trials=config.max_trials if max_trials is None else max_trials,
        max_minutes=config.max_minutes if max_minutes is None else max_minutes,
    )


def _check_draws(config: RunConfig) -> None:
    """Refuse a config that asks for more problems than its levels hold."""
    try:
        held_out(config)
        training_tasks(config, first_state(config), 1)
    except TaskError as error:
        raise UserError(error.message, hint=error.hint) from error


def _check_free(run_dir: Path) -> None:
    try:
        names = {path.name for path in run_dir.iterdir()} if run_dir.is_dir() else set()
        if any(not name.startswith(".manifest.") for name in names):  # left by a killed start
            hint = "choose another --out"
            if "manifest.json" in names:
                hint += f", or continue it with --resume {run_dir}"
            raise UserError(f"{run_dir}: exists and is not empty", hint=hint)
        if run_dir.exists() and not run_dir.is_dir():
            raise UserError(f"{run_dir}: is not a directory", hint="choose another --out")
    except OSError as error:
        raise UserError(f"{run_dir}: cannot be read: {error.strerror}") from error
    parent = run_dir
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UserError(f"{run_dir}: {parent} cannot be written", hint="choose another --out")


def _require_extras() -> None:
    if sys.platform != "linux":
        raise UserError(
            f"sandboxes need Linux, this is {sys.platform}",
            hint="run it in a Linux virtual machine or container",
        )
    missing = [name for name in ("torch", "transformers", "tokenizers") if find_spec(name) is None]
    if missing:
        raise UserError(
            f"training needs {', '.join(missing)}", hint="pip install 'quintain[train]'"
        )
