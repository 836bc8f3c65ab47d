"""Refuse programs that cannot be described, before any world sees them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePosixPath

from quintain.errors import UserError
from quintain.sandbox._types import Program
from quintain.types import Limits

__all__ = ["check_program"]

_UNCOUNTED = 1 << 31
_MOST = {"output_kib": 1 << 20, "wall_s": 1 << 20}
"""The launcher holds outputs in its own memory, and waits for so many milliseconds."""
_LEAST = {"open_files": 24}
"""A world is made under its own limits: with fewer it could not be."""
_FRACTIONS = ("cpu_s", "wall_s")
_PAGE = 4096
"""What a file takes of the disk is rounded up to."""
_NAME, _PATH = 255, 4000
"""Bytes that the kernel takes for a name, and for a path with room for where it lies."""


def check_program(program: Program, limits: Limits) -> None:
    """Raise `UserError` naming the field that is wrong."""
    if not program.argv or not program.argv[0]:
        raise UserError("argv: empty; it must name a program")
    for part in (*program.argv, *program.build):
        _no_nul("argv", part)
    for name, value in program.env.items():
        _no_nul("env", name + value)
        if not name or "=" in name:
            raise UserError(f"env: {name!r} is not a name of a variable")
    for field, paths in (("files", program.files), ("fetch", program.fetch)):
        for path in paths:
            _beneath(field, path)
    for path in program.files:
        for parent in PurePosixPath(path).parents:
            if str(parent) in program.files:
                raise UserError(f"files: {parent} is a file and a directory at once")
    for name in Limits.__struct_fields__:
        _between(name, getattr(limits, name), _LEAST.get(name, 0), _MOST.get(name, _UNCOUNTED))
    _fits(program.files, limits)


def _between(name: str, value: float, least: int, most: int) -> None:
    if not (0 < value <= most and value >= least):  # NaN lies nowhere
        above = f"at least {least}" if least else "above 0"
        raise UserError(f"limits: {name} is {value}; it must be {above} and at most {most}")
    if not (isinstance(value, int) or name in _FRACTIONS):
        raise UserError(f"limits: {name} is {value}; it must be a whole number")


def _fits(files: Mapping[str, bytes], limits: Limits) -> None:
    """Refuse files for which the world's own disk would be too small."""
    pages = sum(-(-len(content) // _PAGE) for content in files.values())
    if pages * _PAGE > limits.disk_mib << 20:
        raise UserError("files: they do not fit on the disk", hint="raise limits.disk_mib")
    made = {*files, *(str(parent) for path in files for parent in PurePosixPath(path).parents)}
    if len(made - {"."}) > limits.inodes:
        raise UserError("files: they are more than limits.inodes", hint="raise limits.inodes")


def _no_nul(field: str, text: str) -> None:
    if "\0" in text:
        raise UserError(f"{field}: {text!r} holds a NUL character")
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise UserError(f"{field}: {text!r} cannot be written as bytes") from error


def _beneath(field: str, path: str) -> None:
    _no_nul(field, path)
    parts = path.split("/")
    if path.startswith("/") or not all(parts) or {".", ".."} & set(parts):
        raise UserError(
            f"{field}: {path!r} is not a plain path below /work",
            hint="write it relative and without '.', '..' or empty parts, for instance data/a.txt",
        )
    if len(os.fsencode(path)) > _PATH or max(len(os.fsencode(part)) for part in parts) > _NAME:
        raise UserError(f"{field}: {path[:40]!r}… is longer than a path or a name may be")
