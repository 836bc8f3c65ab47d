"""Bring files out of a world that has ended; launcher side.

Everything in the world is dead when this runs, and no link of any kind is followed: a name is
resolved beneath the run's own directory or not at all. Only regular files are read.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from quintain.sandbox._native import _sys

__all__ = ["fetch"]


def fetch(
    box: int, names: list[str], limit: int, below: str = "work"
) -> tuple[dict[str, bytes], list[str]]:
    """Read the named files below ``below``; return contents, and refusals with their reasons.

    ``limit`` is the most bytes that all of them together may have.
    """
    found: dict[str, bytes] = {}
    refused: list[str] = []
    work = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=box)
    try:
        for name in names:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                try:
                    found[name] = _read(work, name, limit)
                    limit -= len(found[name])
                except _RefusedError as error:
                    refused.append(f"{name}: {error}")
    finally:
        os.close(work)
    return found, refused


class _RefusedError(Exception):
    """The output is not a plain file that fits."""


def _read(directory: int, name: str, limit: int) -> bytes:
    try:
        fd = _sys.openat2_beneath(directory, name)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise
        links = (errno.ELOOP, errno.EXDEV)
        why = "is a link" if error.errno in links else os.strerror(error.errno or 0)
        raise _RefusedError(why) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _RefusedError("is not a regular file")
        if status.st_size > limit:
            raise _RefusedError(f"has {status.st_size} bytes, {limit} are left")
        with open(fd, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(fd)
