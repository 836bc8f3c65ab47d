"""What training refuses, by name: the wrong split, and tokens that are none."""

from __future__ import annotations

from collections.abc import Sequence

from quintain.errors import UserError
from quintain.types import Split

__all__ = ["check_split", "check_tokens"]


def check_split(name: str, split: Split) -> None:
    """Refuse what is not of the train split."""
    if split is not Split.TRAIN:
        raise UserError(
            f"{name}: its split is {split.value}; only tasks of the train split are trained on",
            hint="held-out tasks are for evaluation",
        )


def check_tokens(name: str, token_ids: Sequence[int], vocabulary: int) -> None:
    """Refuse an empty sequence, and ids outside the vocabulary."""
    if not token_ids:
        raise UserError(
            f"{name}: has no token ids",
            hint="its sampler does not report tokens; train on trials of one that does",
        )
    for position, token in enumerate(token_ids):
        if not 0 <= token < vocabulary:
            raise UserError(
                f"{name}: token {position} is {token}, outside the vocabulary of {vocabulary}",
                hint="were these tokens sampled from another model?",
            )
