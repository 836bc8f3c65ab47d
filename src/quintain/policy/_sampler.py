"""What yields tokens: the seam between episodes and any model.

Invariant: a sampler either returns a completion or raises; it never returns a made-up one.
Not guaranteed: that two samplers of the same weights draw the same tokens from the same seed.
"""

from __future__ import annotations

from typing import Protocol

from quintain.types import Completion, Noun, Policy, Sampling

__all__ = ["SampleRequest", "Sampler"]


class SampleRequest(Noun, frozen=True, kw_only=True):
    """Ask for one completion."""

    prompt: str
    """The text to continue, already framed by an interface."""
    sampling: Sampling
    seed: int
    """Decides the draw; equal requests to equal weights should give equal completions."""


class Sampler(Protocol):
    """Produces completions from a policy."""

    @property
    def policy(self) -> Policy:
        """Return the weights that are being sampled."""

    async def sample(self, request: SampleRequest) -> Completion:
        """Complete one prompt; raises `PolicyError` when that is impossible."""
