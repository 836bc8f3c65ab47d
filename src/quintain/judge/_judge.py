"""One entry to all judges."""

from __future__ import annotations

from typing import assert_never

import msgspec

from quintain.errors import BoundaryError
from quintain.judge._answer import judge_answer
from quintain.judge._cases import judge_cases
from quintain.judge._finding import Judged, invalid
from quintain.sandbox import DEFAULT_LIMITS, AuditRecord, Execution, Pool, Program, audit
from quintain.types import AnswerSpec, CasesSpec, Limits, Submission, Task

__all__ = ["judge"]


async def judge(task: Task, submission: Submission, pool: Pool) -> Judged:
    """Judge a submission to a task.

    Whatever the candidate does is a finding in the verdict. A fault of the sandbox, of the judge
    or of the task gives a verdict that is invalid, with the reason as its evidence.
    """
    audited = _Audited(pool, task.image)
    judged = await _judge(task, submission, audited)
    return msgspec.structs.replace(judged, audit=tuple(audited.records))


class _Audited:
    """A pool that keeps a record of every execution, whatever the judge makes of it."""

    def __init__(self, pool: Pool, image: str) -> None:
        self._pool, self._image = pool, image
        self.records: list[AuditRecord] = []

    async def execute(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> Execution:
        done = await self._pool.execute(program, limits)
        self.records.append(audit(program, limits, done, image=self._image))
        return done


async def _judge(task: Task, submission: Submission, pool: Pool) -> Judged:
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
