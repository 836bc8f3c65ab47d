"""The wall between training and evaluation, checked by problem and not by wording."""

from __future__ import annotations

from collections.abc import Iterable

from quintain.errors import UserError

__all__ = ["check_overlap"]


def check_overlap(train: Iterable[str], held_out: Iterable[str]) -> int:
    """Count the `Task.id`s on both sides; returns 0, because any other count is an error.

    Equal ids mean equal problems. Problems that merely resemble each other are not found.
    Raises `UserError` that names the ids seen on both sides.
    """
    shared = sorted(set(train) & set(held_out))
    if shared:
        names = ", ".join(shared[:5]) + (", …" if len(shared) > 5 else "")
        raise UserError(
            f"{len(shared)} problem(s) are both trained on and held out: {names}",
            hint="draw each side from its own split; then the scores on these problems are void",
        )
    return 0
