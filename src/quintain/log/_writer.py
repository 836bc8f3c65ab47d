"""The writing side: one writer, one segment, one `write` per record.

Invariant: when `RunLog.append` returns, the kernel has the whole record: it survives ``kill -9`` of
this process. Records are also synced to the disk at the first append a second or more after the
last sync, and on close; a power cut may cost what came after the last sync.
Not guaranteed: an order between the segments of concurrent writers.
"""

from __future__ import annotations

import os
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from quintain.codec import digest
from quintain.errors import LogError
from quintain.log._records import (
    HeaderRecord,
    InterfaceRecord,
    IsolationRecord,
    Record,
    TaskRecord,
)
from quintain.log._segment import encode_line, segments_of, sync_directory

__all__ = ["Log", "RunLog"]

SYNC_INTERVAL_S = 1.0
_REMEMBERED = 65_536


class Log(Protocol):
    """Whatever keeps records: a `RunLog`, or a list in a test."""

    def append(self, record: Record) -> None:
        """Keep a record; it is acknowledged when this returns."""
        ...


class RunLog:
    """Appends records to a new segment of a run directory; usable as a context manager.

    ::

        with RunLog(run_dir) as log:
            log.append(TaskRecord(task=task))
            log.append(TrialRecord(trial=trial))

    Every writer begins its own segment, so several processes may log into one run. A task,
    interface or isolation report that this writer has already logged unchanged is not written
    again. Raises `LogError` when the directory cannot be written.
    """

    def __init__(self, run_dir: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, int] = {}
        self._broken = ""
        self._size = 0
        self._synced_at = clock()
        self.segment, self._fd = _begin(run_dir)
        try:
            self._write(encode_line(HeaderRecord()))
            sync_directory(self.segment.parent)
            sync_directory(run_dir)
        except BaseException:
            os.close(self._fd)
            raise

    def append(self, record: Record) -> None:
        """Hand a record to the kernel; it is acknowledged when this returns.

        Raises `LogError` when it cannot be written: nothing of it stays behind, and everything
        acknowledged before remains readable.
        """
        line = encode_line(record)
        name = _name(record)
        with self._lock:
            if self._fd < 0:
                raise LogError(f"{self.segment}: the log is closed")
            if name and self._known.get(name) == zlib.crc32(line):
                return
            self._write(line)
            if name:
                self._remember(name, zlib.crc32(line))
            if self._clock() - self._synced_at >= SYNC_INTERVAL_S:
                self._sync()

    def sync(self) -> None:
        """Force everything appended so far to the disk."""
        with self._lock:
            self._sync()

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        with self._lock:
            if self._fd < 0:
                return
            try:
                self._sync()
            finally:
                os.close(self._fd)
                self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, line: bytes) -> None:
        if self._broken:
            raise LogError(self._broken, hint="open a new RunLog: it begins a new segment")
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            self._fail(error.strerror or str(error), error)
        if written != len(line):
            self._fail(f"only {written} of {len(line)} bytes fitted", None)
        self._size += len(line)

    def _fail(self, reason: str, cause: OSError | None) -> None:
        """Cut off what a failed write left behind, then raise."""
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            # The partial line stays the last one of this segment, where readers ignore it.
            self._broken = f"{self.segment}: sealed after a failed write ({reason})"
        raise LogError(
            f"{self.segment}: cannot be written: {reason}",
            hint="free space or make the directory writable, then resume the run; "
            "what was acknowledged is intact",
        ) from cause

    def _sync(self) -> None:
        if self._fd >= 0:
            try:
                os.fsync(self._fd)
            except OSError as error:
                raise LogError(f"{self.segment}: cannot be synced: {error.strerror}") from error
            self._synced_at = self._clock()

    def _remember(self, name: str, checksum: int) -> None:
        self._known.pop(name, None)
        self._known[name] = checksum
        if len(self._known) > _REMEMBERED:  # forgetting costs a repeated line, not a wrong one
            del self._known[next(iter(self._known))]


def _name(record: Record) -> str:
    """Name what trials refer to by name; empty for records that are written each time."""
    match record:
        case TaskRecord(task=task):
            return f"task {task.variant}"
        case InterfaceRecord(interface=interface):
            return f"interface {interface.digest}"
        case IsolationRecord(report=report):
            return f"isolation {digest(report)}"
        case _:
            return ""


def _begin(run_dir: Path) -> tuple[Path, int]:
    """Create the next free segment; the exclusive open decides between concurrent writers."""
    directory = run_dir / "segments"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        taken = segments_of(run_dir)
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
