"""Rows of JSONL in, tasks as JSONL in and out.

Invariant: a file is written whole or not at all (a temporary file beside it, then a rename), and
every complaint about a file that is read names the file, the line and the field.

Does not guarantee that a task can be solved or judged: that is qualification.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import msgspec

from quintain.codec import decode, encode
from quintain.errors import UserError
from quintain.judge import wire
from quintain.types import Case, CasesSpec, Task

__all__ = ["as_row", "check_name", "read_rows", "read_tasks", "write_atomically", "write_tasks"]

T = TypeVar("T")

_LONGEST_LINE = 64 << 20
_GZIP = b"\x1f\x8b"
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_. -]*(?:/[A-Za-z0-9_.][A-Za-z0-9_. -]*)*")


def _open(path: Path) -> BinaryIO:
    """Open a file that may be compressed, which its first bytes say and its name need not."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (``file:line``, text) for every line that is not blank, one at a time."""
    where, number = str(path), 0
    try:
        with _open(path) as file:
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                where = f"{path}:{number}"
                if len(line) > _LONGEST_LINE:
                    raise UserError(f"{where}: longer than {_LONGEST_LINE >> 20} MiB")
                text = line.decode()
                if text.startswith("\ufeff"):
                    raise UserError(
                        f"{where}: begins with a byte order mark", hint="save it as plain UTF-8"
                    )
                if text.strip():
                    yield where, text
    except UnicodeDecodeError as error:
        raise UserError(
            f"{where}: not UTF-8: byte {error.object[error.start]:#04x} at column {error.start + 1}"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: damaged gzip after line {number}: {error}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield (``file:line``, row) for each line of a JSONL file, plain or gzip, lazily.

    Numbers keep all their digits. Raises `UserError` for a file without rows and for a line that is
    not one JSON object with distinct names.
    """
    empty = True
    for where, text in _lines(path):
        empty = False
        try:
            row = json.loads(text, object_pairs_hook=_distinct)
        except RecursionError:
            raise UserError(f"{where}: nested too deeply") from None
        except ValueError as error:
            raise UserError(f"{where}: not valid JSON: {error}") from error
        if not isinstance(row, dict):
            raise UserError(f"{where}: a {type(row).__name__}, not an object")
        yield where, row
    if empty:
        raise UserError(f"{path}: holds no rows")


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"field {twice!r} twice in one object")
    return made


def as_row(row: Mapping[str, object], kind: type[T], where: str) -> T:
    """Read a row as ``kind``, ignoring columns it lacks; the error names the field."""
    try:
        return msgspec.convert(row, type=kind, strict=True)
    except msgspec.ValidationError as error:
        raise UserError(f"{where}: {error}") from error


def check_name(text: str, where: str, field: str) -> str:
    """Return a name that is safe to print and to make paths of; raises `UserError` otherwise."""
    if len(text) > 200 or not _NAME.fullmatch(text) or ".." in text.split("/"):
        raise UserError(
            f"{where}: {text[:60]!r} is not a name - at `$.{field}`",
            hint="letters, digits, blanks and ._- in parts joined by /, none of them '..'",
        )
    return text


def read_tasks(path: Path) -> Iterator[Task]:
    """Yield the tasks of a task file, lazily, plain or gzip.

    Raises `UserError`, naming file, line and field, for anything but distinct tasks.
    """
    seen: dict[str, str] = {}
    for where, text in _lines(path):
        task = decode(text, Task, where=where)
        _check(task, where)
        if (first := seen.setdefault(task.id, where)) is not where:
            raise UserError(
                f"{where}: the same problem as {first} - at `$.problem`",
                hint="a task file holds each problem once",
            )
        yield task
    if not seen:
        raise UserError(f"{path}: holds no tasks")


def _check(task: Task, where: str) -> None:
    check_name(task.family, where, "family")
    if task.level < 1:
        raise UserError(f"{where}: level {task.level}; 1 is the easiest - at `$.level`")
    if isinstance(task.judge, CasesSpec):
        if not task.judge.cases:
            raise UserError(f"{where}: no cases, so nothing to judge by - at `$.judge.cases`")
        if not task.judge.entry.isidentifier():
            raise UserError(f"{where}: {task.judge.entry!r} is no name - at `$.judge.entry`")
        for number, case in enumerate(task.judge.cases):
            _check_case(case, where, f"$.judge.cases[{number}]")


def _check_case(case: Case, where: str, field: str) -> None:
    try:
        args = wire.decode(case.args)
        wire.decode(case.expected)
    except wire.WireError as error:
        raise UserError(f"{where}: {error} - at `{field}`") from error
    if type(args) is not tuple:
        raise UserError(f"{where}: a {type(args).__name__}, not a tuple - at `{field}.args`")


def write_tasks(path: Path, tasks: Iterable[Task], *, replace: bool = False) -> int:
    """Write a task file, whole or not at all, and return how many tasks it holds.

    Raises `UserError` when the file exists and may not be replaced, and when two tasks are the same
    problem or there are none.
    """
    return write_atomically(path, _encoded(tasks), replace=replace)


def _encoded(tasks: Iterable[Task]) -> Iterator[bytes]:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise UserError(f"the same problem twice: {task.family} {task.problem[:60]!r}")
        seen.add(task.id)
        yield encode(task)
    if not seen:
        raise UserError("there are no tasks to write")


def write_atomically(path: Path, lines: Iterable[bytes], *, replace: bool = False) -> int:
    """Write lines to a file, whole or not at all, and return how many."""
    if path.exists() and not replace:
        raise UserError(f"{path}: exists already", hint="choose another name, or --force")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    temporary, count = Path(name), 0
    try:
        with os.fdopen(handle, "wb") as file:
            for line in lines:
                file.write(line + b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    return count
