"""Training: SFT on demonstrations and GRPO-family reinforcement on groups."""

from __future__ import annotations

__all__: list[str] = []
