"""QuixBugs: classic algorithms with a bug on one line, to be repaired.

Invariant: an expected value is what the correct program returns, and agrees with the listed one as
far as JSON can tell the two apart.
"""

from __future__ import annotations

import msgspec

from quintain.errors import UserError
from quintain.tasks.formats._files import as_row, check_name
from quintain.tasks.formats._settle import CodeDraft, LeftOut, encode_args
from quintain.types import WrongAnswer

__all__ = ["quixbugs"]


class _Row(msgspec.Struct):
    name: str
    buggy: str
    correct: str
    cases: list[list[object]] | None


def quixbugs(row: dict[str, object], where: str) -> CodeDraft | LeftOut:
    """Read a row of QuixBugs."""
    read = as_row(row, _Row, where)
    check_name(read.name, where, "name")
    if not read.name.isidentifier():
        raise UserError(f"{where}: {read.name[:60]!r} is no name - at `$.name`")
    if f"def {read.name}(" not in read.correct:
        return LeftOut(source=read.name, reason="a helper module, not a program")
    if read.cases is None:
        return LeftOut(source=read.name, reason="its inputs are graphs: needs a test suite")
    if not read.cases:
        raise UserError(f"{where}: no cases - at `$.cases`")
    calls = [_call(case, number, where) for number, case in enumerate(read.cases)]
    return CodeDraft(
        source=read.name,
        family="quixbugs",
        entry=read.name,
        prompt="This Python module has a bug on one line. Repair it and answer with the whole "
        f"module.\n\n{read.buggy.strip()}\n",
        problem=f"{read.name}\n{read.buggy.strip()}",
        gold=read.correct.strip("\n") + "\n",
        stub=f"def {read.name}(*arguments):",
        args=tuple(encode_args(args, where, "cases") for args, _ in calls),
        listed=tuple(listed for _, listed in calls),
        wrong=(WrongAnswer(kind="buggy", text=read.buggy),),
    )


def _call(case: list[object], number: int, where: str) -> tuple[list[object], object]:
    if len(case) != 2:
        raise UserError(f"{where}: not a pair of arguments and result - at `$.cases[{number}]`")
    args, listed = case
    return args if isinstance(args, list) else [args], listed
