"""Apply one tar, compressed or not, to a `Tree`.

Invariant: whatever bytes the archive holds, the outcome is a tree or a `UserError` that names the
member; memory stays bounded by the number of members, disk by `ArchiveLimits`. Device nodes,
FIFOs and sparse members are refused. Owners, extended attributes and set-user-id bits are dropped.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import importlib
import lzma
import tarfile
import zlib
from pathlib import Path
from typing import IO, Protocol, cast

from quintain.errors import UserError
from quintain.image._tree import Refusal, Tree, clean_parts
from quintain.types import Noun

__all__ = ["DAMAGE", "ArchiveLimits", "Budget", "Reader", "Stream", "decompressed", "read_tar"]

DAMAGE = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, ValueError)
"""What the standard library raises for archives that are not what they should be."""
_CHUNK = 1 << 20
_MAX_READ = 16 << 20  # a header that wants more is a bomb: tarfile reads headers into memory
_RATIO_FROM = 64 << 20
_MAX_TIME = 1 << 33


class ArchiveLimits(Noun, frozen=True, kw_only=True):
    """Past these an archive is refused."""

    max_bytes: int = 32 << 30
    """Decompressed, over all layers."""
    max_members: int = 1_000_000
    max_ratio: int = 200
    """Decompressed over compressed size, looked at from 64 MiB on."""


class Reader(Protocol):
    """What is needed of a file."""

    def read(self, size: int = -1, /) -> bytes:
        """Read up to ``size`` bytes."""
        ...

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to an offset."""
        ...

    def tell(self) -> int:
        """Return the offset."""
        ...


class Budget:
    """What is left of the limits, over all layers of one image."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self.limits = limits
        self._bytes = 0
        self.members = 0

    def spend_bytes(self, count: int) -> None:
        """Count decompressed bytes; raises `Refusal` past the limit."""
        self._bytes += count
        if self._bytes > self.limits.max_bytes:
            raise Refusal(f"more than {self.limits.max_bytes} bytes when decompressed")

    def spend_member(self) -> None:
        """Count a member; raises `Refusal` past the limit."""
        self.members += 1
        if self.members > self.limits.max_members:
            raise Refusal(f"more than {self.limits.max_members} members")


def decompressed(raw: Reader, where: str) -> Reader:
    """Open a seekable file through the decompressor that its first bytes ask for."""
    magic = raw.read(6)
    raw.seek(0)
    file = cast("IO[bytes]", raw)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file, mode="rb")
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if magic.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(file)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            module = importlib.import_module("compression.zstd")
        except ImportError as error:
            hint = "decompress it (zstd -d), save the image with gzip layers, or use Python 3.14"
            raise UserError(f"{where}: zstd needs Python 3.14 or later", hint=hint) from error
        return cast("Reader", module.ZstdFile(file))
    return raw


class Stream:
    """A forward-only view for tarfile that counts, hashes and bounds what it hands on."""

    def __init__(self, raw: Reader, where: str, budget: Budget) -> None:
        self._raw = raw
        self._source = decompressed(raw, where)
        self._budget = budget
        self._at = 0
        self._tail = b""
        self._again = b""
        self._hash = hashlib.sha256()
        self.ended = False

    def read(self, size: int = -1, /) -> bytes:
        """Read exactly ``size`` bytes unless the stream ends before."""
        if not 0 <= size <= _MAX_READ:
            raise Refusal(f"a header of {size} bytes")
        taken, self._again = self._again[:size], self._again[size:]
        pieces = [taken]
        missing = size - len(taken)
        while missing and not self.ended:
            piece = self._source.read(missing)
            missing -= len(piece)
            self.ended = not piece
            self._count(piece)
            pieces.append(piece)
        data = b"".join(pieces)
        self._at += len(data)
        return data

    def _count(self, piece: bytes) -> None:
        self._budget.spend_bytes(len(piece))
        self._hash.update(piece)
        self._tail = (self._tail + piece)[-tarfile.BLOCKSIZE :]
        total, packed = self._at + len(piece), self._raw.tell()
        ratio = self._budget.limits.max_ratio
        if total > _RATIO_FROM and total > ratio * max(packed, 1):
            raise Refusal(f"expands more than {ratio} times, like a bomb")

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Skip forward, or step back within the last block, which tarfile does to probe an end."""
        back = self._at - offset
        if whence or back > len(self._tail) or (back > 0 and self._again):
            raise Refusal("a header that points backwards")
        if back > 0:
            self._again, self._at = self._tail[-back:], offset
        while self._at < offset:
            if not self.read(min(_CHUNK, offset - self._at)):
                break
        return self._at

    def tell(self) -> int:
        """Return the offset in decompressed bytes."""
        return self._at

    def ends_properly(self) -> bool:
        """Whether the last block read is the zero block that ends an archive."""
        return self._tail == bytes(tarfile.BLOCKSIZE) and not self._again

    def drain(self) -> str:
        """Read what remains and return the SHA-256 of all of it."""
        while self.read(_CHUNK):
            pass
        return self._hash.hexdigest()


def read_tar(
    raw: Reader,
    tree: Tree,
    *,
    where: str,
    blobs: Path,
    budget: Budget,
    whiteouts: bool,
    expected: str = "",
) -> None:
    """Apply a tar to the tree; file contents go to ``blobs`` until the tree is laid out.

    ``expected`` is the SHA-256 of the decompressed tar, where it is known. Raises `UserError` for
    members that are refused, and for archives that are damaged or cut short.
    """
    stream = Stream(raw, where, budget)
    name = ""
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r:", encoding="utf-8") as tar:
            while (member := tar.next()) is not None:
                name = member.name
                budget.spend_member()
                _apply(tar, member, tree, blobs / str(budget.members), whiteouts)
                tar.members.clear()  # type: ignore[attr-defined]  # or every header stays in memory
        proper = stream.ends_properly() or bool(expected and stream.ended)
        digest = stream.drain()
    except Refusal as refusal:
        raise UserError(f"{where}: member {name!r}: {refusal}") from refusal
    except DAMAGE as error:
        raise UserError(f"{where}: damaged after member {name!r}: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise UserError(f"{where}: damaged after member {name!r}: {error}") from error  # bz2 only
    if expected and digest != expected:
        raise UserError(f"{where}: damaged: hashes to {digest}, not {expected}")
    if not proper:
        raise UserError(f"{where}: damaged or cut short after member {name!r}")


def _apply(
    tar: tarfile.TarFile, member: tarfile.TarInfo, tree: Tree, blob: Path, whiteouts: bool
) -> None:
    parts = clean_parts(member.name)
    if whiteouts and parts and parts[-1].startswith(".wh."):
        _hide(tree, parts)
    elif member.isdir():
        tree.add_directory(parts, (member.mode & 0o1777) | 0o700)
    elif member.issym():
        tree.add_symlink(parts, member.linkname)
    elif member.islnk():
        tree.add_hard_link(parts, clean_parts(member.linkname))
    elif member.issparse():
        raise Refusal("a sparse file (the archive was made with tar --sparse)")
    elif member.isreg():
        _store(tar, member, blob)
        tree.add_file(parts, blob, (member.mode & 0o777) | 0o400, _time(member))
    else:
        raise Refusal("a device node, FIFO or other special file (make the archive without it)")


def _hide(tree: Tree, parts: tuple[str, ...]) -> None:
    hidden = parts[-1].removeprefix(".wh.")
    if hidden == ".wh..opq":
        tree.make_opaque(parts[:-1])
    elif hidden in ("", ".", ".."):
        raise Refusal("a whiteout of no name")
    elif not hidden.startswith(".wh."):  # the rest is bookkeeping of aufs
        tree.whiteout((*parts[:-1], hidden))


def _store(tar: tarfile.TarFile, member: tarfile.TarInfo, blob: Path) -> None:
    source = tar.extractfile(member)
    left = member.size
    if source is None or left < 0:
        raise Refusal("no content, or a negative size")
    with source, blob.open("xb") as file:
        while left and (piece := source.read(min(_CHUNK, left))):
            file.write(piece)
            left -= len(piece)
    if left:
        raise EOFError(f"{left} bytes of it are missing")


def _time(member: tarfile.TarInfo) -> int:
    return int(max(0.0, min(float(member.mtime), float(_MAX_TIME))))
