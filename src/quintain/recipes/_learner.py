"""The model of a run: made or restored, trained, published to its sampler, saved.

Torch is imported when a learner is opened, not before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from quintain.codec import decode, encode
from quintain.curriculum import Curriculum
from quintain.errors import LogError, UserError
from quintain.interface import Interface
from quintain.recipes._config import Precision, RunConfig
from quintain.recipes._draws import Demonstration, first_state
from quintain.recipes._models import interfaces, load
from quintain.tasks import FAMILIES
from quintain.types import Group, Noun, Task

if TYPE_CHECKING:
    from quintain.policy import LocalSampler
    from quintain.train import LocalPolicy

__all__ = ["Learner", "Position", "finished", "open_learner"]

_WARMUP_STEPS = 5


class Position(Noun, frozen=True, kw_only=True):
    """Where training stands; travels in every checkpoint."""

    sft_steps: int = 0
    """SFT steps made."""
    grpo_steps: int = 0
    """GRPO steps made."""
    curriculum: Curriculum

    @property
    def steps(self) -> int:
        """Return how many updates were made."""
        return self.sft_steps + self.grpo_steps

    @property
    def version(self) -> str:
        """Name of the weights at this point of the run."""
        if not self.steps:
            return "base"
        return f"sft{self.sft_steps}-grpo{self.grpo_steps}"


class Learner:
    """What a run trains, and its sampler."""

    def __init__(
        self,
        config: RunConfig,
        local: LocalPolicy,
        framing: dict[str, Interface],
        position: Position,
        checkpoints: Path,
    ) -> None:
        self._config = config
        self._local = local
        self._checkpoints = checkpoints
        self.interfaces = framing
        """Family name to interface."""
        self.position = position
        """Where training stood when the learner was opened."""

    @property
    def sampler(self) -> LocalSampler:
        """Sampler of the weights last published."""
        return self._local.sampler

    def interface(self, task: Task) -> Interface:
        """Return how a task is framed for this model."""
        return self.interfaces[task.family]

    def publish(self, version: str) -> None:
        """Let the sampler see the weights as they are now."""
        self._local.publish(version)

    def sft_step(self, batch: Sequence[Demonstration]) -> dict[str, float]:
        """Imitate a batch; return the step's figures."""
        from quintain.train import Optimization, demonstration, sft_step

        examples = [demonstration(d.task, d.prompt, d.reply, self._local.tokenizer) for d in batch]
        config = self._config
        left = 1.0 - self._local.trainer.step / max(config.sft_steps, 1)
        optimization = Optimization(lr=config.sft_lr * max(left, 0.1), warmup_steps=_WARMUP_STEPS)
        with _finite("sft_lr"):
            stats = sft_step(self._local.trainer, examples, optimization)
        return {"loss": stats.loss, "grad_norm": stats.grad_norm, "tokens": float(stats.tokens)}

    def grpo_step(self, groups: Sequence[Group]) -> dict[str, float]:
        """Reinforce groups; return the step's figures."""
        from quintain.train import GrpoConfig, Optimization, grpo_step

        config = GrpoConfig(
            optimization=Optimization(lr=self._config.grpo_lr, warmup_steps=_WARMUP_STEPS),
            temperature=self._config.temperature,
        )
        with _finite("grpo_lr"):
            stats = grpo_step(self._local.trainer, groups, config)
        values = {"zero_advantage": stats.skipped_groups / len(groups)}
        if stats.updated:
            values |= {
                "loss": stats.loss,
                "ratio_error": stats.ratio_error,
                "effective_share": stats.effective_share,
                "entropy": stats.entropy,
                "kl": stats.kl,
                "grad_norm": stats.grad_norm,
                "tokens": float(stats.tokens),
                "nodes": float(stats.nodes),
            }
        return values

    def begin_grpo(self) -> None:
        """Change the objective: the optimiser's moments and warm-up start anew."""
        self._local.restart()

    def save(self, position: Position) -> None:
        """Write a checkpoint from which the run can go on."""
        from quintain.train import save_checkpoint

        stage = "grpo" if position.grpo_steps else "sft"
        save_checkpoint(self._checkpoints / stage, self._local.trainer, encode(position), keep=1)
        if stage == "grpo":
            shutil.rmtree(self._checkpoints / "sft", ignore_errors=True)

    def export(self, directory: Path, *, final: bool) -> None:
        """Write the model, whole or not at all, in the format of transformers.

        Checkpoints are no longer needed when it is ``final``: they are what tells a run that may
        go on from one that is finished. Raises `LogError` when it cannot be written.
        """
        from safetensors import SafetensorError

        from quintain.policy import save_model

        building, old = (directory.with_name(f".{directory.name}{end}") for end in ("", ".old"))
        for leftover in (building, old):  # of a life that was killed here
            shutil.rmtree(leftover, ignore_errors=True)
        try:
            save_model(self._local.trainer.model, self._local.tokenizer, building)
            for path in (*building.iterdir(), building):
                _flush(path)
            if directory.exists():
                directory.rename(old)
            building.rename(directory)
            _flush(directory.parent)
        except (OSError, RuntimeError, SafetensorError) as error:
            raise LogError(
                f"{directory}: the model cannot be written: {error}",
                hint="free space, then resume the run",
            ) from error
        shutil.rmtree(old, ignore_errors=True)
        if final:
            shutil.rmtree(self._checkpoints, ignore_errors=True)


def finished(run_dir: Path) -> bool:
    """Tell whether a run has nothing left to do."""
    return (run_dir / "model").exists() and not (run_dir / "checkpoints").exists()


def _flush(path: Path) -> None:
    """Force a file's or directory's content to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _finite(key: str) -> Iterator[None]:
    """Turn a gradient that is not finite into what a user can do about it."""
    try:
        yield
    except FloatingPointError as error:
        raise UserError(f"training diverged: {error}", hint=f"lower it: --set {key}=…") from error


def open_learner(config: RunConfig, run_dir: Path) -> Learner:
    """Make the model of a run, or restore it from the run's last checkpoint.

    Raises `UserError` when the weights are not there.
    """
    import torch

    from quintain.train import LocalPolicy, latest, load_checkpoint

    torch.set_num_threads(config.threads)
    model, tokenizer = load(config)
    local = LocalPolicy(
        model,
        tokenizer,
        name=config.recipe,
        version="base",
        bf16=config.precision is Precision.BF16,
        batch_size=config.batch_size,
    )
    position = Position(curriculum=first_state(config))
    checkpoints = run_dir / "checkpoints"
    path = latest(checkpoints / "grpo") or latest(checkpoints / "sft")
    if path is not None:
        payload = load_checkpoint(path, local.trainer)
        position = decode(payload, Position, where=str(path / "payload.json"))
    framing = {family.name: interfaces(config)(family.name) for family in FAMILIES}
    return Learner(config, local, framing, position, checkpoints)
