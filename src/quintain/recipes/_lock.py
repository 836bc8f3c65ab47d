"""One process at a time may write a run.

Invariant: the kernel holds the lock, so it ends with its process, however that dies.
Not guaranteed: anything on network file systems without locks.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quintain.errors import UserError

__all__ = ["sole_writer"]


@contextmanager
def sole_writer(run_dir: Path) -> Iterator[None]:
    """Hold a run directory; raises `UserError` when another process does."""
    try:
        file = (run_dir / "lock").open("a")
    except OSError as error:
        raise UserError(
            f"{run_dir}: cannot be written: {error.strerror}", hint="check its owner and mode"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{run_dir}: another process is running it",
                hint="wait for that process, or end it, then resume",
            ) from None
        yield
