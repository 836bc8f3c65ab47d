"""Refuse programs that cannot be described, before any world sees them."""

from __future__ import annotations

from pathlib import PurePosixPath

from quintain.errors import UserError
from quintain.sandbox._types import Program
from quintain.types import Limits

__all__ = ["check_program"]


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
        if not 0 < getattr(limits, name) < float("inf"):
            raise UserError(f"limits: {name} is {getattr(limits, name)}; it must be above 0")


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
