"""`tiny`: a model of about 1 M parameters, trained from nothing in about four minutes.

The mechanics of a whole run on any laptop: SFT on demonstrations of which some are wrong, GRPO on
executed rewards, evaluation on problems that training never saw.
"""

from __future__ import annotations

from quintain.recipes._config import Precision, RunConfig, cores

__all__ = ["tiny"]


def tiny() -> RunConfig:
    """Return the config of the `tiny` recipe."""
    return RunConfig(
        recipe="tiny",
        precision=Precision.FP32,
        threads=cores(),
        sandboxes=cores(),
        code_share=1.0,
        levels=2,
        sft_steps=480,
        sft_batch=48,
        sft_lr=3e-3,
        sft_wrong_share=0.15,
        grpo_steps=40,
        batch_size=256,
        grpo_prompts=16,
        grpo_samples=16,
        grpo_lr=1e-4,
        temperature=1.0,
        held_out_code=256,
        held_out_maths=0,
        held_out_samples=2,
        probe_every=10,
        probe_tasks=96,
        checkpoint_every=10,
    )
