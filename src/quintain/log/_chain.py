"""A line of the audit log: ``<SHA-256 in 64 hexadecimal digits> <json>``, chained to the last one.

The hash is that of the hash before it and of the line's own JSON, so that one hash vouches for
every line up to it. The first line of a segment follows `GENESIS`; what it says binds the segment
to its name, its run and the segments begun before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from quintain.codec import encode
from quintain.types import Noun

__all__ = [
    "AUDIT_VERSION",
    "GENESIS",
    "HASH_CHARACTERS",
    "AuditEntry",
    "AuditHead",
    "AuditLine",
    "AuditSeal",
    "chained",
    "decode_body",
    "follows",
    "last_hash",
    "manifest_hash",
]

AUDIT_VERSION = 1
"""Of the lines; a golden segment exists for every version written."""
GENESIS = "0" * 64
"""What the first line of a segment follows."""
HASH_CHARACTERS = 64
_TAIL_BYTES = 65_536


class AuditHead(Noun, frozen=True, kw_only=True, tag="head"):
    """First line of every segment."""

    audit_version: int = AUDIT_VERSION
    segment: str
    """The file's own name."""
    manifest: str
    """SHA-256 of the run's ``manifest.json``; empty when there was none."""
    previous: Mapping[str, str]
    """Name of every segment begun before this one to its last hash at that moment; empty when it
    had no line yet."""


class AuditEntry(Noun, frozen=True, kw_only=True, tag="entry"):
    """Something that happened."""

    kind: str
    """What ``record`` is, for instance ``execution``."""
    at: float
    """Seconds since the epoch."""
    record: msgspec.Raw


class AuditSeal(Noun, frozen=True, kw_only=True, tag="seal"):
    """Last line of a segment that was closed, not cut off."""

    entries: int
    at: float


AuditLine = AuditHead | AuditEntry | AuditSeal
_DECODER: msgspec.json.Decoder[AuditLine] = msgspec.json.Decoder(AuditLine)


def chained(line: AuditLine, before: str) -> tuple[bytes, str]:
    """Frame a line that follows the hash ``before``; return it with its own hash."""
    body = encode(line)
    own = _hash(before, body)
    return b"%b %b\n" % (own.encode(), body), own


def follows(line: bytes, before: str) -> str:
    """Return the hash of a line without its newline, or nothing unless it follows ``before``."""
    own, body = line[:HASH_CHARACTERS], line[HASH_CHARACTERS + 1 :]
    expected = _hash(before, body)
    fits = own == expected.encode() and line[HASH_CHARACTERS : HASH_CHARACTERS + 1] == b" "
    return expected if fits else ""


def decode_body(line: bytes) -> AuditLine:
    """Read the JSON of a line; raises `msgspec.DecodeError` when it is not one of ours."""
    return _DECODER.decode(line[HASH_CHARACTERS + 1 :])


def last_hash(path: Path) -> str:
    """Return the hash on the last whole line of a segment, or nothing when it has none."""
    size, length = path.stat().st_size, _TAIL_BYTES
    with path.open("rb") as file:
        while True:
            file.seek(max(0, size - length))
            data = file.read(min(size, length))
            whole = data[: data.rfind(b"\n")] if b"\n" in data else b""
            start = whole.rfind(b"\n") + 1
            if start or length >= size:
                return whole[start : start + HASH_CHARACTERS].decode("ascii", "replace")
            length *= 4


def manifest_hash(run_dir: Path) -> str:
    """Return the SHA-256 of a run's manifest, or nothing when there is none."""
    path = run_dir / "manifest.json"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _hash(before: str, body: bytes) -> str:
    return hashlib.sha256(before.encode() + body).hexdigest()
