"""One entry to all judges."""

from __future__ import annotations

from typing import assert_never

from quintain.errors import BoundaryError
from quintain.judge._answer import judge_answer
from quintain.judge._cases import judge_cases
from quintain.judge._finding import Judged, invalid
from quintain.sandbox import Pool
from quintain.types import AnswerSpec, CasesSpec, Submission, Task

__all__ = ["judge"]


async def judge(task: Task, submission: Submission, pool: Pool) -> Judged:
    """Judge a submission to a task.

    Whatever the candidate does is a finding in the verdict. A fault of the sandbox, of the judge
    or of the task gives a verdict that is invalid, with the reason as its evidence.
    """
    try:
        match task.judge:
            case CasesSpec():
                return await judge_cases(task.judge, submission, pool, task.limits)
            case AnswerSpec():
                return Judged(verdict=judge_answer(task.judge, submission))
            case _:
                assert_never(task.judge)
    except BoundaryError as error:
        reason = f"{type(error).__name__}: {error.message}"
        return Judged(verdict=invalid(task.judge, reason))
