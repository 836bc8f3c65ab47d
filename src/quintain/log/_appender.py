"""One file of one writer: begun exclusively, one `write` a line, synced in batches.

Invariant: when `Appender.write` returns, the kernel has the whole line: it survives ``kill -9`` of
this process. When it raises, nothing of the line stays behind, or nothing is ever written after it.
Lines are also synced to the disk at the first write a second or more after the last sync, and on
close. Not guaranteed: that threads may share it; whoever holds it has the lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from quintain.errors import LogError
from quintain.log._segment import numbered, sync_directory

__all__ = ["SYNC_INTERVAL_S", "Appender"]

SYNC_INTERVAL_S = 1.0


class Appender:
    """Appends lines to the next free ``NNNNNN.log`` of a directory of the run.

    Raises `LogError` when there is none to be had.
    """

    def __init__(self, directory: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._broken = ""
        self._size = 0
        self.synced_at = clock()
        self.path, self.fd = _begin(directory)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self.fd < 0

    def begin(self, line: bytes) -> None:
        """Write the first line and make the file's name last; closes the file when it cannot."""
        try:
            self.write(line)
            sync_directory(self.path.parent)
            sync_directory(self.path.parent.parent)
        except BaseException:
            os.close(self.fd)
            self.fd = -1
            raise

    def write(self, line: bytes) -> None:
        """Hand a line to the kernel; raises `LogError` when it does not take the whole of it."""
        if self.closed:
            raise LogError(f"{self.path}: the log is closed")
        if self._broken:
            raise LogError(self._broken, hint="open the log again: that begins a new segment")
        try:
            written = os.write(self.fd, line)
        except OSError as error:
            self._fail(error.strerror or str(error), error)
        if written != len(line):
            self._fail(f"only {written} of {len(line)} bytes fitted", None)
        self._size += len(line)

    def sync_when_due(self) -> None:
        """Sync when a second has passed since the last time."""
        if self._clock() - self.synced_at >= SYNC_INTERVAL_S:
            self.sync()

    def sync(self) -> None:
        """Force everything written so far to the disk."""
        if not self.closed:
            try:
                os.fsync(self.fd)
            except OSError as error:
                raise LogError(f"{self.path}: cannot be synced: {error.strerror}") from error
            self.synced_at = self._clock()

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        if self.closed:
            return
        try:
            self.sync()
        finally:
            os.close(self.fd)
            self.fd = -1

    def _fail(self, reason: str, cause: OSError | None) -> None:
        """Cut off what a failed write left behind, then raise."""
        try:
            os.ftruncate(self.fd, self._size)
        except OSError:
            # The partial line stays the last one of this segment, where readers ignore it.
            self._broken = f"{self.path}: sealed after a failed write ({reason})"
        raise LogError(
            f"{self.path}: cannot be written: {reason}",
            hint="free space or make the directory writable, then resume the run; "
            "what was acknowledged is intact",
        ) from cause


def _begin(directory: Path) -> tuple[Path, int]:
    """Create the next free segment; the exclusive open decides between concurrent writers."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        taken = numbered(directory)
        number = int(taken[-1].stem) + 1 if taken else 0
        while True:
            path = directory / f"{number:06d}.log"
            try:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                return path, os.open(path, flags, 0o644)
            except FileExistsError:
                number += 1
    except OSError as error:
        raise LogError(
            f"{directory}: no segment can be begun: {error.strerror}",
            hint="choose a directory that can be written, with --out",
        ) from error
