"""The state that training moves: weights, optimiser moments, and a count of steps.

Invariant: weights and moments are fp32 (bf16 is for the passes alone), and an update whose gradient
is not finite is not applied.
Not guaranteed: bit-equal results across machines or numbers of threads.
"""

from __future__ import annotations

from typing import Any

import torch

from quintain.errors import UserError
from quintain.train._types import Optimization

__all__ = ["Trainer"]


class Trainer:
    """A model under training; `sft_step` and `grpo_step` move it.

    ::

        trainer = Trainer(model, bf16=True)
        stats = grpo_step(trainer, groups, config)
    """

    def __init__(self, model: Any, *, bf16: bool = False) -> None:
        """Train ``model`` in place; its weights must be fp32, ``bf16`` speeds up the passes.

        Raises `UserError` for weights of another type.
        """
        for name, parameter in model.named_parameters():
            if parameter.dtype != torch.float32:
                raise UserError(
                    f"weight {name} is {parameter.dtype}; training keeps its weights in float32",
                    hint="load the model with dtype float32, and pass bf16=True for speed",
                )
        self.model = model
        self.bf16 = bf16
        self.step = 0
        self.optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.0)

    @property
    def vocabulary(self) -> int:
        """Return the number of token ids that the model knows."""
        return int(self.model.get_input_embeddings().num_embeddings)

    def update(self, optimization: Optimization) -> tuple[float, float]:
        """Apply the gradients that have gathered; returns (gradient norm, learning rate).

        Raises `FloatingPointError` when the norm is not finite; the weights stay as they were.
        """
        warmup = max(optimization.warmup_steps, 1)
        lr = optimization.lr * min(1.0, (self.step + 1) / warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        norm = float(
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), optimization.max_grad_norm)
        )
        try:
            if not torch.tensor(norm).isfinite():
                raise FloatingPointError(f"step {self.step}: the gradient's norm is {norm}")
            self.optimizer.step()
        finally:
            self.optimizer.zero_grad(set_to_none=True)
        return norm, lr
