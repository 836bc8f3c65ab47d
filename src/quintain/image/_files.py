"""Copy files into a layer, and give a layer made on disk its neutral form."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from quintain.errors import UserError
from quintain.image._spec import FileSpec
from quintain.image._tree import EPOCH

__all__ = ["copy_files", "neutralise"]


def copy_files(files: Sequence[FileSpec], spec: Path, tree: Path) -> None:
    """Copy each source to its target below ``tree``, which must exist; symbolic links stay links.

    Raises `UserError` naming the key for a source that is missing or special, and for two sources
    that claim one path.
    """
    for index, item in enumerate(files):
        where = f"{spec}: files[{index}]"
        source, target = spec.parent / item.source, tree / item.target.lstrip("/")
        if target.is_symlink() or target.exists():
            raise UserError(f"{where}.target: {item.target} is there already")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise UserError(f"{where}.target: {item.target} lies below a file") from error
        if any(parent.is_symlink() for parent in target.parents if parent.is_relative_to(tree)):
            raise UserError(f"{where}.target: {item.target} lies below a symbolic link")
        _copy(source, target, where)


def _copy(source: Path, target: Path, where: str) -> None:
    try:
        kind = source.lstat().st_mode
        if stat.S_ISDIR(kind):
            _check_plain(source, where)
            shutil.copytree(source, target, symlinks=True)
        elif stat.S_ISREG(kind) or stat.S_ISLNK(kind):
            shutil.copy2(source, target, follow_symlinks=False)
        else:
            raise UserError(f"{where}.source: {source} is a special file")
    except FileNotFoundError as error:
        raise UserError(f"{where}.source: {error.filename} is not there") from error
    except PermissionError as error:
        raise UserError(f"{where}.source: {error.filename} may not be read") from error


def _check_plain(source: Path, where: str) -> None:
    for path in source.rglob("*"):
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind)):
            raise UserError(f"{where}.source: {path} is a special file")


def neutralise(tree: Path) -> None:
    """Take out of a tree what depends on who made it, when, and under which umask."""
    for below, directories, files in os.walk(tree, topdown=False):
        for name in (*files, *directories):
            path = Path(below, name)
            if path.is_symlink():
                continue
            mode = path.stat().st_mode
            runs = stat.S_ISDIR(mode) or mode & 0o100
            path.chmod(0o755 if runs else 0o644)
            os.utime(path, (EPOCH, EPOCH))
    tree.chmod(0o755)
    os.utime(tree, (EPOCH, EPOCH))
