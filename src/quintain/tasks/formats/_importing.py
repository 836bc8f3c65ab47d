"""Reads datasets of others into tasks, row by row.

Invariant: every row becomes a task, or is left out with a reason, or ends the import with an error;
none is skipped in silence. Rows are read lazily.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from quintain.errors import UserError
from quintain.sandbox import Pool
from quintain.tasks.formats._answers import (
    AnswerDraft,
    answer_task,
    cruxeval_output,
    gsm8k,
    math500,
)
from quintain.tasks.formats._evalplus import humaneval_plus, mbpp_plus
from quintain.tasks.formats._files import read_rows
from quintain.tasks.formats._humaneval import humaneval, humaneval_pack
from quintain.tasks.formats._observe import observe, with_contract
from quintain.tasks.formats._quixbugs import quixbugs
from quintain.tasks.formats._settle import CodeDraft, LeftOut, Settled, settle
from quintain.types import Split, Task

__all__ = ["FORMATS", "Format", "ImportCounts", "import_tasks", "read_drafts"]

Draft = CodeDraft | AnswerDraft | LeftOut


@dataclass(frozen=True, slots=True)
class Format:
    """A dataset that can be imported."""

    name: str
    """Also the family of its tasks."""
    about: str
    read: Callable[[dict[str, object], str], Draft]
    """Reads one row; the text is ``file:line``, for errors."""
    executes: bool
    """Published solutions must run to find out what they return."""


FORMATS: tuple[Format, ...] = (
    Format("cruxeval_output", "CRUXEval: predict what a function returns", cruxeval_output, False),
    Format("gsm8k", "GSM8K: school mathematics in words", gsm8k, False),
    Format("humaneval", "HumanEval: complete a function", humaneval, True),
    Format("humaneval_pack", "HumanEvalPack (Python): repair a function", humaneval_pack, True),
    Format("humaneval_plus", "HumanEval+ of EvalPlus: many more cases", humaneval_plus, True),
    Format("math500", "MATH-500: competition mathematics", math500, False),
    Format("mbpp_plus", "MBPP+ of EvalPlus: write a function", mbpp_plus, True),
    Format("quixbugs", "QuixBugs: repair one line of an algorithm", quixbugs, True),
)


@dataclass(slots=True)
class ImportCounts:
    """What became of the rows so far."""

    rows: int = 0
    tasks: int = 0
    cases: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    dropped_cases: Counter[str] = field(default_factory=Counter)
    """Cases that tasks lack, by reason."""


def read_drafts(kind: Format, path: Path) -> list[tuple[str, Draft]]:
    """Read all rows of a file, with the places they stand at; nothing is executed.

    Raises `UserError`, naming file, line and field, for the first row that cannot be read or whose
    id was seen before.
    """
    drafts: list[tuple[str, Draft]] = []
    seen: dict[str, str] = {}
    for where, row in read_rows(path):
        draft = kind.read(row, where)
        if (first := seen.setdefault(draft.source, where)) is not where:
            raise UserError(f"{where}: id {draft.source[:60]!r} again, first at {first}")
        drafts.append((where, draft))
    return drafts


async def import_tasks(
    kind: Format, path: Path, pool: Pool | None, *, split: Split, counts: ImportCounts
) -> AsyncIterator[Task]:
    """Yield the tasks of a dataset file, and count in ``counts`` what became of each row.

    All rows are read before the first published solution runs, each in a world of ``pool``. Raises
    `UserError` as `read_drafts` does, and `SandboxError` when a world cannot be had.
    """
    for where, draft in read_drafts(kind, path):
        counts.rows += 1
        made = await _made(draft, where, pool, split)
        if isinstance(made, LeftOut):
            counts.left_out.append(made)
            continue
        counts.tasks += 1
        if isinstance(made, Settled):
            counts.dropped_cases.update(made.dropped)
            counts.cases += len(getattr(made.task.judge, "cases", ()))
        yield made.task if isinstance(made, Settled) else made


async def _made(
    draft: Draft, where: str, pool: Pool | None, split: Split
) -> Settled | LeftOut | Task:
    if isinstance(draft, LeftOut):
        return draft
    if isinstance(draft, AnswerDraft):
        return answer_task(draft, split)
    if pool is None:
        raise UserError(f"{where}: published solutions run in a sandbox, and there is no pool")
    source = with_contract(draft.gold, draft.entry, draft.contract)
    return settle(draft, await observe(pool, source, draft.entry, draft.args, draft.test), split)
