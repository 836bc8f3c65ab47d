"""What an image is once it is built, and what can be found about one.

Invariant: an `Image` names content only. Its name and tag, the archive it came from and the time
it was built are not part of it, so that the same content has one digest whatever its way here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from quintain import codec
from quintain.types import Noun

__all__ = [
    "Collected",
    "Difference",
    "DifferenceKind",
    "Entry",
    "EntryKind",
    "Image",
    "Origin",
    "StoredLayer",
    "Tagged",
]


class EntryKind(StrEnum):
    """What a path in a layer is."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    SPECIAL = "special file"
    """A device, FIFO or socket: never stored, and found when someone adds one."""


class Entry(Noun, frozen=True, kw_only=True):
    """One path of a layer, or of a pinned host."""

    path: str
    """Without a leading slash; bytes that are not UTF-8 are written as ``\\xNN``."""
    kind: EntryKind
    mode: int = 0
    """Permission bits of files and directories."""
    size: int = 0
    """Bytes of a file."""
    sha256: str = ""
    """Of a file's content."""
    target: str = ""
    """Where a symbolic link points, as it is stored."""
    mtime: int = 0
    """Seconds since the epoch, of files in layers: interpreters judge compiled files by it."""


class Origin(StrEnum):
    """Which part of ``image.toml`` a layer was made from."""

    BASE = "base"
    PYTHON = "python"
    FILES = "files"


class StoredLayer(Noun, frozen=True, kw_only=True):
    """A directory tree in the store, named by its content."""

    digest: str
    origin: Origin
    entries: int
    bytes: int
    """Sum of the file sizes."""


class Image(Noun, frozen=True, kw_only=True):
    """An immutable, pinned environment."""

    schema: int = 1
    host: str = ""
    """Digest of the pinned host's file list when the base is the host, else empty."""
    pins: tuple[str, ...] = ()
    """The paths whose content that list covers."""
    layers: tuple[StoredLayer, ...]
    """Lowest first."""
    env: Mapping[str, str]
    workdir: str
    user: str

    @property
    def digest(self) -> str:
        """Hash of everything a program in the image can see."""
        return codec.digest(self)


class Tagged(Noun, frozen=True, kw_only=True):
    """An image and the name it goes by."""

    ref: str
    """``name:tag``; empty for an image whose tag has moved on."""
    digest: str
    image: Image


class DifferenceKind(StrEnum):
    """How stored content departs from what its digest says."""

    CHANGED = "changed"
    MISSING = "missing"
    ADDED = "added"


class Difference(Noun, frozen=True, kw_only=True):
    """One path that is not as it was recorded."""

    place: str
    """``layer DIGEST``, ``host``, or ``image``."""
    path: str
    kind: DifferenceKind
    detail: str = ""
    """What changed, for instance ``size 12, was 11``."""

    def __str__(self) -> str:
        told = f" ({self.detail})" if self.detail else ""
        return f"{self.place}: {self.path}: {self.kind.value}{told}"


class Collected(Noun, frozen=True, kw_only=True):
    """What `gc` removed, or would remove."""

    images: tuple[str, ...]
    layers: tuple[str, ...]
    hosts: tuple[str, ...]
    leftovers: tuple[str, ...]
    """Directories of builds that were killed."""
    bytes: int
