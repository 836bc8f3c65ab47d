"""HumanEval, and HumanEvalPack's bugs to be repaired: the published test makes the calls.

The test runs in the sandbox on the published solution, which must pass it, and the calls it makes
become cases. What the test checks beyond the equality of values is not taken over.
"""

from __future__ import annotations

import msgspec

from quintain.errors import UserError
from quintain.tasks.formats._files import as_row, check_name
from quintain.tasks.formats._settle import CodeDraft, LeftOut
from quintain.types import WrongAnswer

__all__ = ["humaneval", "humaneval_pack"]

_SPECIAL = {"find_zero": "the answer is any root of a polynomial: needs a checker"}


class _Row(msgspec.Struct):
    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str


class _PackRow(_Row):
    buggy_solution: str
    bug_type: str


def humaneval(row: dict[str, object], where: str) -> CodeDraft | LeftOut:
    """Read a row of HumanEval."""
    read = as_row(row, _Row, where)
    _check(read, where)
    if read.entry_point in _SPECIAL:
        return LeftOut(source=read.task_id, reason=_SPECIAL[read.entry_point])
    return CodeDraft(
        source=read.task_id,
        family="humaneval",
        entry=read.entry_point,
        prompt=f"Complete this Python module and answer with all of it.\n\n{read.prompt}",
        problem=f"{read.task_id}\n{read.prompt.strip()}",
        gold=read.prompt + read.canonical_solution,
        stub=read.prompt,
        test=read.test,
    )


def humaneval_pack(row: dict[str, object], where: str) -> CodeDraft | LeftOut:
    """Read a row of HumanEvalPack: a function with a bug, to be repaired."""
    read = as_row(row, _PackRow, where)
    _check(read, where)
    if read.entry_point in _SPECIAL:
        return LeftOut(source=read.task_id, reason=_SPECIAL[read.entry_point])
    buggy = read.prompt + read.buggy_solution
    return CodeDraft(
        source=read.task_id,
        family="humaneval_pack",
        entry=read.entry_point,
        prompt="This Python module has a bug. Repair it and answer with the whole module.\n\n"
        + buggy.strip("\n")
        + "\n",
        problem=f"{read.task_id}\n{buggy.strip()}",
        gold=read.prompt + read.canonical_solution,
        stub=read.prompt,
        test=read.test,
        wrong=(WrongAnswer(kind="buggy", text=buggy),),
        phrasing=f"as_published bug={read.bug_type.replace(' ', '_')}",
    )


def _check(read: _Row, where: str) -> None:
    check_name(read.task_id, where, "task_id")
    if not read.entry_point.isidentifier():
        raise UserError(f"{where}: {read.entry_point[:60]!r} is no name - at `$.entry_point`")
    if "def check(" not in read.test:
        raise UserError(f"{where}: defines no function 'check' - at `$.test`")
