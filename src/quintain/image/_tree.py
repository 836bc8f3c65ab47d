"""A root filesystem in memory, to which archive members are applied before any path is made.

Invariant: no member of an archive ever names a path on this machine. Members are applied to a
tree of plain values; only the finished tree is laid out, every directory before what is in it,
so that neither ``..`` nor a symbolic link can lead anywhere. Parents are looked up the way a
kernel would inside the root, except that climbing above the root is refused, not clamped.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["EPOCH", "Directory", "File", "Refusal", "Symlink", "Tree", "clean_parts", "lay_out"]

EPOCH = 315532800
"""1980-01-01, the time of everything whose own time says nothing: the oldest a zip can hold."""
_MAX_LINKS = 40  # as Linux
_MAX_DEPTH = 256
_MAX_PATH = 3000  # leaves room for the store's own path below PATH_MAX
_MAX_NAME = 255


class Refusal(Exception):  # noqa: N818 - private: always turned into a UserError naming the member
    """A member that is not applied, and why."""


@dataclass(slots=True)
class File:
    """A regular file; several may share a blob (hard links)."""

    blob: Path
    mode: int
    mtime: int
    layer: int


@dataclass(slots=True)
class Symlink:
    """A symbolic link, its target as it came."""

    target: str
    layer: int


@dataclass(slots=True)
class Directory:
    """A directory and what is in it."""

    mode: int
    layer: int
    children: dict[str, Node] = field(default_factory=dict)


Node = File | Symlink | Directory


def clean_parts(name: str) -> tuple[str, ...]:
    """Split a member's name; raises `Refusal` when it could lead out of the root."""
    if name.startswith("/"):
        raise Refusal("absolute path")
    if "\0" in name:
        raise Refusal("a zero byte in the name")
    if len(os.fsencode(name)) > _MAX_PATH:
        raise Refusal(f"path longer than {_MAX_PATH} bytes")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise Refusal("'..' in the path")
    if len(parts) > _MAX_DEPTH:
        raise Refusal(f"more than {_MAX_DEPTH} directories deep")
    if any(len(os.fsencode(part)) > _MAX_NAME for part in parts):
        raise Refusal(f"a name longer than {_MAX_NAME} bytes")
    return parts


class Tree:
    """Members are applied in order; ``layer`` counts up and scopes whiteouts."""

    def __init__(self) -> None:
        self.root = Directory(mode=0o755, layer=0)
        self.layer = 0

    def add_directory(self, parts: Sequence[str], mode: int) -> None:
        """Make a directory, or give an existing one a new mode; anything else is replaced."""
        if not parts:
            self.root.mode = mode
            return
        parent = self._make_parent(parts)
        existing = parent.children.get(parts[-1])
        if isinstance(existing, Directory):
            existing.mode, existing.layer = mode, self.layer
        else:
            parent.children[parts[-1]] = Directory(mode=mode, layer=self.layer)

    def add_file(self, parts: Sequence[str], blob: Path, mode: int, mtime: int) -> None:
        """Put a file in place of whatever was there."""
        self._put(parts, File(blob=blob, mode=mode, mtime=mtime, layer=self.layer))

    def add_symlink(self, parts: Sequence[str], target: str) -> None:
        """Put a symbolic link in place of whatever was there."""
        if not target or "\0" in target or len(os.fsencode(target)) > 4095:
            raise Refusal("a symbolic link without a usable target")
        self._put(parts, Symlink(target=target, layer=self.layer))

    def add_hard_link(self, parts: Sequence[str], target: Sequence[str]) -> None:
        """Give an existing file one more name."""
        parent = self._find_parent(target) if target else None
        existing = parent.children.get(target[-1]) if parent else None
        name = "/".join(target)
        if existing is None:
            raise Refusal(f"hard link to {name!r}, which is not there")
        if isinstance(existing, Directory):
            raise Refusal(f"hard link to {name!r}, which is a directory")
        if isinstance(existing, Symlink):
            self.add_symlink(parts, existing.target)
        else:
            self.add_file(parts, existing.blob, existing.mode, existing.mtime)

    def whiteout(self, parts: Sequence[str]) -> None:
        """Hide a path of the layers below; what this layer put there itself stays."""
        parent = self._find_parent(parts)
        if parent is None or parts[-1] not in parent.children:
            return
        if not self._prune(parent.children[parts[-1]]):
            del parent.children[parts[-1]]

    def make_opaque(self, parts: Sequence[str]) -> None:
        """Hide everything that the layers below have in a directory."""
        directory = self._find_directory(parts)
        if directory is not None:
            self._prune(directory)

    def _prune(self, node: Node) -> bool:
        """Drop what came from lower layers; return whether anything of this layer remains."""
        if not isinstance(node, Directory):
            return node.layer == self.layer
        for name, child in list(node.children.items()):
            if not self._prune(child):
                del node.children[name]
        return node.layer == self.layer or bool(node.children)

    def _put(self, parts: Sequence[str], node: Node) -> None:
        if not parts:
            raise Refusal("takes the place of the root itself")
        self._make_parent(parts).children[parts[-1]] = node

    def _make_parent(self, parts: Sequence[str]) -> Directory:
        directory = self._walk(parts[:-1], make=True)
        assert directory is not None  # noqa: S101 - made when missing
        return directory

    def _find_parent(self, parts: Sequence[str]) -> Directory | None:
        return self._walk(parts[:-1], make=False)

    def _find_directory(self, parts: Sequence[str]) -> Directory | None:
        return self._walk(parts, make=False)

    def _walk(self, parts: Sequence[str], *, make: bool) -> Directory | None:
        """Follow a path of directories and symbolic links, never above the root."""
        trail, waiting, links = [self.root], list(reversed(parts)), 0
        while waiting:
            part = waiting.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if len(trail) == 1:
                    raise Refusal("leads above the root through a symbolic link")
                trail.pop()
                continue
            child = trail[-1].children.get(part)
            if child is None:
                if not make:
                    return None
                child = trail[-1].children[part] = Directory(mode=0o755, layer=self.layer)
            if isinstance(child, File):
                raise Refusal(f"lies below {part!r}, which is a file")
            if isinstance(child, Directory):
                trail.append(child)
                if len(trail) > _MAX_DEPTH:
                    raise Refusal(f"more than {_MAX_DEPTH} directories deep")
                continue
            links += 1
            if links > _MAX_LINKS:
                raise Refusal("too many symbolic links on the way")
            if child.target.startswith("/"):
                trail = [self.root]
            waiting += reversed(child.target.split("/"))
        return trail[-1]


def lay_out(tree: Tree, place: Path) -> None:
    """Make the tree at ``place``, which must not exist, moving blobs to where they belong.

    Owners are the builder's, whatever the archive said; set-user-id bits never get here.
    """
    waiting: list[tuple[Directory, Path]] = [(tree.root, place)]
    made: list[tuple[Path, int]] = []
    placed: dict[Path, Path] = {}
    while waiting:
        directory, path = waiting.pop()
        path.mkdir(mode=0o700)
        made.append((path, directory.mode))
        for name, child in sorted(directory.children.items()):
            if isinstance(child, Directory):
                waiting.append((child, path / name))
            elif isinstance(child, Symlink):
                (path / name).symlink_to(child.target)
            else:
                _place_file(child, path / name, placed)
    for path, mode in reversed(made):
        path.chmod(mode)
        os.utime(path, (EPOCH, EPOCH))


def _place_file(file: File, path: Path, placed: dict[Path, Path]) -> None:
    first = placed.setdefault(file.blob, path)
    if first is path:
        file.blob.rename(path)
        path.chmod(file.mode)
        os.utime(path, (file.mtime, file.mtime))
        return
    try:
        path.hardlink_to(first)
    except OSError as error:
        if error.errno != errno.EMLINK:
            raise
        shutil.copy2(first, path)  # the filesystem's limit of names for one file
        placed[file.blob] = path
