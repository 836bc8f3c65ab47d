"""The writing side: one writer, one segment, one `write` per record.

Invariant: when `RunLog.append` returns, the kernel has the whole record: it survives ``kill -9`` of
this process. Records are also synced to the disk at the first append a second or more after the
last sync, and on close; a power cut may cost what came after the last sync.
Not guaranteed: an order between the segments of concurrent writers.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from quintain.codec import digest
from quintain.log._appender import Appender
from quintain.log._records import (
    HeaderRecord,
    InterfaceRecord,
    IsolationRecord,
    Record,
    TaskRecord,
)
from quintain.log._segment import encode_line

__all__ = ["Log", "RunLog"]

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
        self._lock = threading.Lock()
        self._known: dict[str, int] = {}
        self._file = Appender(run_dir / "segments", clock=clock)
        self.segment = self._file.path
        self._file.begin(encode_line(HeaderRecord()))

    def append(self, record: Record) -> None:
        """Hand a record to the kernel; it is acknowledged when this returns.

        Raises `LogError` when it cannot be written: nothing of it stays behind, and everything
        acknowledged before remains readable.
        """
        line = encode_line(record)
        name = _name(record)
        with self._lock:
            if name and self._known.get(name) == zlib.crc32(line) and not self._file.closed:
                return
            self._file.write(line)
            if name:
                self._remember(name, zlib.crc32(line))
            self._file.sync_when_due()

    def sync(self) -> None:
        """Force everything appended so far to the disk."""
        with self._lock:
            self._file.sync()

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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
