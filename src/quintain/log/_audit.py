"""The audit log: ``RUN/audit/NNNNNN.log``, one hash-chained line for each thing to account for.

Invariant: when `AuditLog.append` returns, the kernel has the whole line, chained to all before it;
nothing is chained to a line that could not be written. Syncing is batched as in the trial log.
Not guaranteed: anything against someone who can write the whole directory and chain it anew. For
that, keep the head that `verify_run` returns where they cannot reach it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from quintain.codec import decode, encode
from quintain.errors import LogError
from quintain.log._appender import Appender
from quintain.log._chain import (
    GENESIS,
    AuditEntry,
    AuditHead,
    AuditLine,
    AuditSeal,
    chained,
    decode_body,
    follows,
    last_hash,
    manifest_hash,
)
from quintain.log._segment import numbered
from quintain.types import Noun

__all__ = ["AuditLog", "audit_segments_of", "audited"]

T = TypeVar("T", bound=Noun)


class AuditLog:
    """Appends to a new segment of a run's audit log; usable as a context manager.

    ::

        with AuditLog(run_dir) as log:
            log.append("execution", audit(program, limits, execution))

    Every writer begins its own segment, so several processes may write. Threads may share one.
    Raises `LogError` when the directory cannot be written.
    """

    def __init__(
        self,
        run_dir: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._lock = threading.Lock()
        self._now = now
        self._entries = 0
        self._file = Appender(run_dir / "audit", clock=clock)
        self.segment = self._file.path
        line, self._hash = chained(_head(run_dir, self.segment), GENESIS)
        self._file.begin(line)

    def append(self, kind: str, record: Noun) -> None:
        """Chain a record; it is acknowledged when this returns.

        Raises `LogError` when it cannot be written, or would not come back from JSON as it is.
        """
        body = _body(kind, record)
        with self._lock:
            self._write(AuditEntry(kind=kind, at=self._now(), record=msgspec.Raw(body)))
            self._entries += 1
            self._file.sync_when_due()

    def close(self) -> None:
        """Seal, sync and close; safe to call twice. A disk that is full leaves it unsealed."""
        with self._lock:
            if self._file.closed:
                return
            with suppress(LogError):
                self._write(AuditSeal(entries=self._entries, at=self._now()))
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

    def _write(self, line: AuditLine) -> None:
        data, own = chained(line, self._hash)
        self._file.write(data)
        self._hash = own


def audit_segments_of(run_dir: Path) -> list[Path]:
    """Return the segments of a run's audit log in the order in which they were begun."""
    return numbered(run_dir / "audit")


def audited(run_dir: Path, kind: str, noun: type[T]) -> Iterator[T]:
    """Stream the records of one kind; what a crash cut off at the end of a segment is left out.

    Raises `LogError` for a line that does not follow from the one before it.
    """
    for path in audit_segments_of(run_dir):
        before = GENESIS
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                before = follows(line[:-1], before)
                if not before:
                    raise LogError(
                        f"{path}: line {number}: does not follow from the line before it",
                        hint="quintain log verify RUN says more",
                    )
                entry = decode_body(line[:-1])
                if isinstance(entry, AuditEntry) and entry.kind == kind:
                    yield decode(bytes(entry.record), noun, where=f"{path}: line {number}")


def _head(run_dir: Path, segment: Path) -> AuditHead:
    before = [path for path in audit_segments_of(run_dir) if int(path.stem) < int(segment.stem)]
    try:
        return AuditHead(
            segment=segment.name,
            manifest=manifest_hash(run_dir),
            previous={path.name: last_hash(path) for path in before},
        )
    except OSError as error:
        raise LogError(f"{error.filename}: cannot be read: {error.strerror}") from error


def _body(kind: str, record: Noun) -> bytes:
    try:
        body = encode(record)
    except UnicodeEncodeError as error:
        raise LogError(
            f"a record of kind {kind} holds text that is not Unicode: {error}"
        ) from error
    # JSON has no NaN and no infinity: they become null
    if b"null" in body and not _survives(record, body):
        raise LogError(f"a record of kind {kind} would not come back from JSON: {body[:200]!r}")
    return body


def _survives(record: Noun, body: bytes) -> bool:
    try:
        return bool(msgspec.json.decode(body, type=type(record)) == record)
    except msgspec.ValidationError:
        return False
