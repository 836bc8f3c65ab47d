"""Checkpoints: everything a run needs to go on as if it had not stopped.

``DIR/step-000012/`` holds ``state.pt`` (weights, optimiser, step, torch's random state) and
``payload.json`` (the caller's own state, not looked into).

Invariant: a checkpoint is whole or absent, after ``kill -9`` or a power cut too: it is written
beside its place, flushed to disk, and renamed. Loading one and stepping gives bit-identical weights
on the same machine with as many threads.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import tempfile
from pathlib import Path

import torch

from quintain.errors import LogError, UserError
from quintain.train._trainer import Trainer

__all__ = ["latest", "load_checkpoint", "save_checkpoint"]

_NAME = re.compile(r"step-(\d+)")
_STATE, _PAYLOAD = "state.pt", "payload.json"


def save_checkpoint(
    directory: Path, trainer: Trainer, payload: bytes = b"{}", *, keep: int = 2
) -> Path:
    """Write a checkpoint named by the trainer's step, keep the last ``keep``; returns its path.

    Raises `LogError` when it cannot be written; earlier checkpoints stay.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for leftover in directory.glob(".step-*"):  # of a process that was killed while writing
        shutil.rmtree(leftover, ignore_errors=True)
    target = directory / f"step-{trainer.step:06d}"
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=directory))
    try:
        torch.save(
            {
                "step": trainer.step,
                "model": trainer.model.state_dict(),
                "optimizer": trainer.optimizer.state_dict(),
                "rng": torch.get_rng_state(),
            },
            building / _STATE,
        )
        (building / _PAYLOAD).write_bytes(payload)
        for path in (building / _STATE, building / _PAYLOAD, building):
            _flush(path)
        if target.exists():  # an earlier try at the same step
            target.rename(Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=directory)) / "old")
        building.rename(target)
        _flush(directory)
    except (OSError, RuntimeError) as error:  # torch raises RuntimeError when the disk is full
        raise LogError(
            f"{target}: the checkpoint cannot be written: {error}",
            hint="free space, then resume the run from the checkpoint before it",
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    for old in _checkpoints(directory)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    for leftover in directory.glob(".step-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    return target


def latest(directory: Path) -> Path | None:
    """Return the checkpoint of the highest step, or None when there is none."""
    found = _checkpoints(directory)
    return found[-1] if found else None


def load_checkpoint(path: Path, trainer: Trainer) -> bytes:
    """Put a checkpoint's state into ``trainer`` and into torch's generator; returns the payload.

    Raises `UserError` when the checkpoint cannot be read or is of another model.
    """
    try:
        payload = (path / _PAYLOAD).read_bytes()
        state = torch.load(path / _STATE, map_location="cpu", weights_only=True)
        trainer.model.load_state_dict(state["model"])
        trainer.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        trainer.step = int(state["step"])
    except (OSError, KeyError, ValueError, RuntimeError, pickle.UnpicklingError) as error:
        raise UserError(
            f"{path}: cannot be loaded into this model: {error}",
            hint="an earlier checkpoint may lie beside it",
        ) from error
    return payload


def _checkpoints(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    found = [(int(m[1]), p) for p in directory.iterdir() if (m := _NAME.fullmatch(p.name))]
    return [path for _, path in sorted(found)]


def _flush(path: Path) -> None:
    """Force a file's or directory's content to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
