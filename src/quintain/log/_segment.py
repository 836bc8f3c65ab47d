"""One segment: lines of ``<crc32 in 8 hexadecimal digits> <json>`` that end in a newline.

Invariant: a line counts only when its newline is there and its checksum fits. Bytes after the last
newline are a write that was cut off: torn, never acknowledged, not an error. A newline-terminated
line that does not check out is damage, and damage is never skipped.
Not guaranteed: CRC-32 finds accidents, it does not stop someone who edits a log on purpose.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from quintain.codec import encode
from quintain.errors import LogError
from quintain.log._records import SCHEMA_VERSION, HeaderRecord, Record

__all__ = [
    "SegmentReader",
    "decode_line",
    "encode_line",
    "numbered",
    "segments_of",
    "sync_directory",
]

_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_CHECKSUM_BYTES = 8


def encode_line(record: Record) -> bytes:
    """Frame a record as one line; raises `LogError` for a value that JSON would change.

    JSON has no NaN and no infinity (they become ``null``) and no lone surrogates.
    """
    try:
        body = encode(record)
    except UnicodeEncodeError as error:
        raise LogError(
            f"a {_tag(record)} record holds text that is not Unicode: {error}"
        ) from error
    if b"null" in body and not _survives(record, body):
        raise LogError(
            f"a {_tag(record)} record would not come back from JSON as it is: it holds a number "
            f"that is not finite, or a field of the wrong type: {body[:200]!r}"
        )
    return b"%08x %b\n" % (zlib.crc32(body), body)


def _survives(record: Record, body: bytes) -> bool:
    try:
        return bool(_DECODER.decode(body) == record)
    except msgspec.ValidationError:
        return False


def _tag(record: Record) -> str:
    return str(record.__struct_config__.tag)


def decode_line(line: bytes, *, where: str) -> Record:
    """Read one line, with or without its newline; raises `LogError` that names ``where``."""
    checksum, _, body = line.rstrip(b"\n").partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        raise LogError(
            f"{where}: checksum does not fit, the line is damaged",
            hint="restore the segment from a copy; records in the lines before it are intact",
        )
    try:
        return _DECODER.decode(body)
    except msgspec.DecodeError as error:
        raise LogError(
            f"{where}: intact, but not a record of schema version {SCHEMA_VERSION}: {error}",
            hint="read the run with the version of quintain that its manifest names",
        ) from error


class SegmentReader:
    """Iterates the records of one segment, without its header.

    After the last record ``torn_bytes`` says how much of a cut-off write was ignored; ``line`` is
    the number of the line that was looked at last.
    Raises `LogError` naming segment and line for damage, or a schema version it cannot read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn_bytes = 0
        self.line = 0

    def __iter__(self) -> Iterator[Record]:
        self.torn_bytes = 0
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    self.line = number
                    if not line.endswith(b"\n"):
                        self.torn_bytes = len(line)
                        return
                    record = self._decode(line, number)
                    if number > 1:
                        yield record
        except OSError as error:
            raise LogError(f"{self.path}: cannot be read: {error.strerror}") from error

    def _decode(self, line: bytes, number: int) -> Record:
        where = f"{self.path}: line {number}"
        record = decode_line(line, where=where)
        if isinstance(record, HeaderRecord) is not (number == 1):
            raise LogError(f"{where}: a header belongs in the first line and nowhere else")
        if isinstance(record, HeaderRecord) and not (1 <= record.schema_version <= SCHEMA_VERSION):
            raise LogError(
                f"{where}: schema version {record.schema_version}, not 1 to {SCHEMA_VERSION}",
                hint="read the run with the version of quintain that its manifest names",
            )
        return record


def segments_of(run_dir: Path) -> list[Path]:
    """Return a run's segments in the order in which they were begun."""
    return numbered(run_dir / "segments")


def numbered(directory: Path) -> list[Path]:
    """Return the files ``NNNNNN.log`` of a directory in the order of their numbers."""
    return sorted(
        (path for path in directory.glob("*.log") if path.stem.isdecimal()),
        key=lambda path: int(path.stem),
    )


def sync_directory(directory: Path) -> None:
    """Make the names in a directory outlive a power cut."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
