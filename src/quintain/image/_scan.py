"""List a directory tree entry by entry, and compare two lists.

Invariant: a list depends on paths, kinds, permission bits, contents and (in layers) file times;
never on owners, inode numbers, link counts or the order a directory is read in. Extended
attributes are not listed and not kept.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from quintain import codec
from quintain.errors import UserError
from quintain.ids import content_id
from quintain.image._types import Difference, DifferenceKind, Entry, EntryKind

__all__ = [
    "compare",
    "decode_entries",
    "encode_entries",
    "entries_digest",
    "hash_file",
    "path_text",
    "scan",
]


def path_text(path: str) -> str:
    """Write a file name as text: one text for one name, whatever its bytes."""
    escaped = path.replace("\\", "\\\\").encode("utf-8", "surrogateescape")
    return escaped.decode("utf-8", "backslashreplace")


def hash_file(path: str | Path) -> str:
    """Hash a file's content (SHA-256); a symbolic link in the last place is an error."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
        return hashlib.file_digest(file, "sha256").hexdigest()


def scan(tree: Path) -> tuple[Entry, ...]:
    """List everything below ``tree``, its root left out, in order of path."""
    return tuple(sorted(_scan(tree), key=lambda entry: entry.path))


def _scan(tree: Path) -> Iterator[Entry]:
    waiting = [""]
    while waiting:
        below = waiting.pop()
        for name in _children(tree / below):
            path = f"{below}/{name}" if below else name
            status = os.lstat(tree / path)
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)
            yield _entry(tree / path, path, status)


def _children(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - names are wanted, not paths
    except PermissionError:
        return []  # what is in it will be missed, and its mode named


def _entry(real: Path, path: str, status: os.stat_result) -> Entry:
    name, mode = path_text(path), stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return Entry(path=name, kind=EntryKind.DIRECTORY, mode=mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry(path=name, kind=EntryKind.SYMLINK, target=path_text(os.readlink(real)))  # noqa: PTH115
    if not stat.S_ISREG(status.st_mode):
        return Entry(path=name, kind=EntryKind.SPECIAL)
    try:
        digest = hash_file(real)
    except PermissionError:
        digest = "unreadable"
    return Entry(
        path=name,
        kind=EntryKind.FILE,
        mode=mode,
        size=status.st_size,
        sha256=digest,
        mtime=int(status.st_mtime),
    )


def encode_entries(entries: Sequence[Entry]) -> bytes:
    """Encode a list as JSON lines."""
    return b"".join(codec.encode(entry) + b"\n" for entry in entries)


def decode_entries(data: bytes, *, where: str) -> tuple[Entry, ...]:
    """Decode JSON lines; raises `UserError` naming the line that does not fit."""
    decoder = msgspec.json.Decoder(Entry)
    entries = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            entries.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{where}:{number}: {error}") from error
    return tuple(entries)


def entries_digest(encoded: bytes) -> str:
    """Hash an encoded list: the name of a layer or a pinned host."""
    return content_id("layer", encoded)


def compare(
    recorded: Iterable[Entry], present: Iterable[Entry], place: str
) -> tuple[Difference, ...]:
    """Name every path that is not as recorded, in order of path."""
    was = {entry.path: entry for entry in recorded}
    now = {entry.path: entry for entry in present}
    found = []
    for path in sorted(was.keys() | now.keys()):
        if path not in now:
            found.append(Difference(place=place, path=path, kind=DifferenceKind.MISSING))
        elif path not in was:
            found.append(Difference(place=place, path=path, kind=DifferenceKind.ADDED))
        elif was[path] != now[path]:
            detail = _detail(was[path], now[path])
            found.append(
                Difference(place=place, path=path, kind=DifferenceKind.CHANGED, detail=detail)
            )
    return tuple(found)


def _detail(was: Entry, now: Entry) -> str:
    if was.kind is not now.kind:
        return f"a {now.kind.value}, was a {was.kind.value}"
    told = []
    if was.size != now.size:
        told.append(f"size {now.size}, was {was.size}")
    if was.sha256 != now.sha256:
        told.append("content")
    if was.mode != now.mode:
        told.append(f"mode {now.mode:04o}, was {was.mode:04o}")
    if was.target != now.target:
        told.append(f"points to {now.target}, was {was.target}")
    if was.mtime != now.mtime:
        told.append(f"time {now.mtime}, was {was.mtime}")
    return "; ".join(told)
