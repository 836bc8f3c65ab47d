"""Open a named file inside a directory or a tar, without extracting anything.

Invariant: names inside a tar are keys of an index and never paths on this machine; names asked of
a directory are fixed or made of hexadecimal digits by the caller.
"""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, cast

from quintain.errors import UserError
from quintain.image._archive import DAMAGE, Budget, Reader, decompressed
from quintain.image._tree import Refusal

__all__ = ["Bundle", "open_bundle"]

_MAX_READ = 16 << 20
_MAX_OUTER = 100_000


class Bundle(Protocol):
    """Named files, inside a directory or a tar."""

    where: str

    def open(self, name: str) -> IO[bytes]:
        """Open a file; raises `UserError` when there is none of that name."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        ...


class _DirectoryBundle:
    def __init__(self, path: Path) -> None:
        self.where, self._path = str(path), path

    def has(self, name: str) -> bool:
        return (self._path / name).is_file()

    def open(self, name: str) -> IO[bytes]:
        try:
            return (self._path / name).open("rb")
        except OSError as error:
            raise UserError(f"{self.where}: {name}: {error.strerror}") from error


class _Guarded:
    """A file that tarfile cannot be made to read into memory whole."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise Refusal(f"a header of {size} bytes")
        return self._file.read(size)


class _TarBundle:
    """The index of a tar's members; links between members are followed, nothing is extracted."""

    def __init__(self, file: IO[bytes], where: str) -> None:
        self.where = where
        self._members: dict[str, tarfile.TarInfo] = {}
        name = ""
        try:
            self._tar = tarfile.open(  # noqa: SIM115 - closed with its file
                fileobj=cast("IO[bytes]", _Guarded(file)), mode="r:", encoding="utf-8"
            )
            for member in self._tar:
                name = member.name
                self._members[posixpath.normpath(name)] = member
                if len(self._members) > _MAX_OUTER:
                    raise Refusal(f"more than {_MAX_OUTER} members")
        except Refusal as refusal:
            raise UserError(f"{where}: member {name!r}: {refusal}") from refusal
        except DAMAGE as error:
            raise UserError(f"{where}: not a tar, or damaged after {name!r}: {error}") from error

    def _find(self, name: str) -> tarfile.TarInfo | None:
        path = posixpath.normpath(name)
        for _ in range(8):
            member = self._members.get(path)
            if member is None or member.isreg():
                return member
            if member.issym():
                path = posixpath.normpath(posixpath.join(posixpath.dirname(path), member.linkname))
            elif member.islnk():
                path = posixpath.normpath(member.linkname)
            else:
                return None
        return None

    def has(self, name: str) -> bool:
        return self._find(name) is not None

    def open(self, name: str) -> IO[bytes]:
        member = self._find(name)
        sound = member is not None and not member.issparse() and member.size >= 0
        file = self._tar.extractfile(member) if member is not None and sound else None
        if file is None:
            raise UserError(f"{self.where}: holds no file {name!r}")
        return file


@contextmanager
def open_bundle(path: Path, work: Path, budget: Budget) -> Iterator[Bundle]:
    """Open a layout directory or an archive; a compressed archive is unpacked into ``work``."""
    if path.is_dir():
        yield _DirectoryBundle(path)
        return
    with path.open("rb") as file:
        source = decompressed(file, str(path))
        if source is file:
            yield _TarBundle(file, str(path))
            return
        plain = work / "archive.tar"
        try:
            with plain.open("wb") as copy:
                _copy(source, copy, budget)
        except Refusal as refusal:
            raise UserError(f"{path}: {refusal}") from refusal
        except DAMAGE as error:
            raise UserError(f"{path}: damaged: {error}") from error
    with plain.open("rb") as file:
        yield _TarBundle(file, str(path))


def _copy(source: Reader, copy: IO[bytes], budget: Budget) -> None:
    while piece := source.read(1 << 20):
        budget.spend_bytes(len(piece))
        copy.write(piece)
