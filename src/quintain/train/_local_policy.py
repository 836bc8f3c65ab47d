"""A model that is trained and sampled in one process, in turns.

Invariant: what the sampler calls version ``v`` are the weights at the moment ``v`` was published.
With bf16 the sampler has a copy of its own, refreshed by `LocalPolicy.publish`; in fp32 both sides
share one model, so it must be published after every update and before the next sample.
"""

from __future__ import annotations

import copy
from typing import Any

import torch

from quintain.policy import LocalSampler
from quintain.train._trainer import Trainer
from quintain.types import Policy

__all__ = ["LocalPolicy"]


class LocalPolicy:
    """Holds the trainer and the sampler of one model.

    ::

        local = LocalPolicy(model, tokenizer, name="smollm2", bf16=True)
        groups = await rollout(tasks, plan, local.sampler, …)
        grpo_step(local.trainer, groups, config)
        local.publish("1")
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        version: str = "0",
        bf16: bool = False,
        batch_size: int = 64,
    ) -> None:
        """``model`` is trained in place and must be fp32; ``bf16`` is for speed on both sides."""
        self.trainer = Trainer(model, bf16=bf16)
        self.tokenizer = tokenizer
        self._sampled = copy.deepcopy(model).to(torch.bfloat16) if bf16 else model
        self.sampler = LocalSampler(
            self._sampled, tokenizer, Policy(name=name, version=version), batch_size=batch_size
        )

    def restart(self) -> None:
        """Forget the optimiser's moments and start counting steps anew, for another objective."""
        self.trainer = Trainer(self.trainer.model, bf16=self.trainer.bf16)

    @torch.no_grad()
    def publish(self, version: str) -> None:
        """Let the sampler see the weights as they are now, under a new version."""
        self.sampler.policy = Policy(name=self.sampler.policy.name, version=version)
        if self._sampled is not self.trainer.model:
            pairs = zip(self._sampled.parameters(), self.trainer.model.parameters(), strict=True)
            for sampled, trained in pairs:
                sampled.copy_(trained)
