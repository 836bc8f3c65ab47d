"""Pin a host: list what a Python program on it can load, and find how it has drifted since.

Invariant: a pin depends on paths, permission bits and contents, never on times or owners, so that
two hosts with the same packages agree. ``__pycache__`` directories are left out: any import may
rewrite them. What is not below a pinned path is not pinned.

Reading everything takes seconds the first time (measured: about 200 MB a second on one core), a
walk afterwards: hashes are remembered with size, times and inode of the file, and used again only
while all of them are the same.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from quintain.image._scan import hash_file, path_text
from quintain.image._store import write_whole
from quintain.image._types import Entry, EntryKind

__all__ = ["default_pins", "list_host"]

_SETTLED_S = 2.0  # a file changed since may change again within the same tick of its times
_Memory = dict[str, tuple[tuple[int, ...], str]]


def default_pins() -> tuple[str, ...]:
    """Return the interpreter, its library, its packages and the system's shared libraries."""
    paths = sysconfig.get_paths()
    found = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [sys.executable, os.path.realpath(sys.executable)]
    triplet = sysconfig.get_config_var("MULTIARCH")
    libraries = [f"/usr/lib/{triplet}", "/usr/lib64", "/lib64"] if triplet else ["/usr/lib64"]
    found += [path for path in libraries if Path(path).is_dir()] or ["/usr/lib"]
    real = {os.path.realpath(path) if Path(path).is_dir() else path for path in found}
    return _without_nested(real)


def _without_nested(paths: set[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for path in sorted(paths):
        if not any(path == other or path.startswith(other + "/") for other in kept):
            kept.append(path)
    return tuple(kept)


def list_host(pins: Sequence[str], store: Path) -> tuple[Entry, ...]:
    """List everything below the pinned paths, in order of path; a path that is not there is left
    out. Remembers hashes in the store when it may write there.
    """
    place = store / "hosts" / "hashes.json"
    before = _recall(place)
    roots = _without_nested(set(pins))
    after = {
        path: known
        for path, known in before.items()
        if not any(path == root or path.startswith(root + "/") for root in roots)
    }
    entries = [entry for pin in roots for entry in _list(pin, before, after)]
    if after != before:
        with contextlib.suppress(OSError):  # a store that may only be read: slower, not wrong
            write_whole(place, msgspec.json.encode(after))
    return tuple(sorted(entries, key=lambda entry: entry.path))


def _recall(place: Path) -> _Memory:
    try:
        return msgspec.json.decode(place.read_bytes(), type=_Memory)
    except (OSError, msgspec.DecodeError):
        return {}


def _list(pin: str, before: _Memory, after: _Memory) -> Iterator[Entry]:
    waiting = [pin]
    while waiting:
        path = waiting.pop()
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        mode, name = stat.S_IMODE(status.st_mode), path_text(path.lstrip("/"))
        if stat.S_ISDIR(status.st_mode):
            yield Entry(path=name, kind=EntryKind.DIRECTORY, mode=mode)
            waiting += [f"{path}/{child}" for child in _children(path)]
        elif stat.S_ISLNK(status.st_mode):
            target = path_text(os.readlink(path))  # noqa: PTH115 - text, not a path
            yield Entry(path=name, kind=EntryKind.SYMLINK, target=target)
        elif stat.S_ISREG(status.st_mode):
            digest = _hash(path, status, before, after)
            yield Entry(
                path=name, kind=EntryKind.FILE, mode=mode, size=status.st_size, sha256=digest
            )


def _children(path: str) -> list[str]:
    try:
        return [name for name in os.listdir(path) if name != "__pycache__"]  # noqa: PTH208
    except PermissionError:
        return []  # nor can a program of this user read it


def _hash(path: str, status: os.stat_result, before: _Memory, after: _Memory) -> str:
    key = path_text(path)
    print_ = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    known = before.get(key)
    try:
        digest = known[1] if known and tuple(known[0]) == print_ else hash_file(path)
    except PermissionError:
        return "unreadable"
    if time.time() - status.st_ctime > _SETTLED_S:
        after[key] = (print_, digest)
    return digest
