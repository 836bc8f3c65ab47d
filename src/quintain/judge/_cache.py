"""Verdicts of identical submissions, kept in memory.

Invariant: only scored verdicts are kept, and identical requests that run at the same time lead to
one execution. When that execution is cancelled or ends invalid, the next request in line runs its
own: nobody inherits another's infrastructure fault.
"""

from __future__ import annotations

from collections import OrderedDict

import anyio

from quintain.codec import digest
from quintain.errors import UserError
from quintain.ids import content_id
from quintain.judge._finding import Judged, judge_id
from quintain.judge._judge import judge
from quintain.sandbox import Pool
from quintain.types import Outcome, Submission, Task

__all__ = ["JudgeCache", "cache_key"]


def cache_key(task: Task, submission: Submission) -> str:
    """Hash all that a verdict depends on: task, judge, image and submission."""
    text = submission.text.encode("utf-8", "surrogatepass")
    return content_id(digest(task), judge_id(task.judge).digest, task.image, text)


class JudgeCache:
    """Judges, remembering at most ``capacity`` verdicts; the least recently used one goes first."""

    def __init__(self, capacity: int = 10_000) -> None:
        if capacity < 1:
            raise UserError(f"a judge cache needs a capacity of at least 1, not {capacity}")
        self._capacity = capacity
        self._kept: OrderedDict[str, Judged] = OrderedDict()
        self._running: dict[str, anyio.Event] = {}

    def __len__(self) -> int:
        return len(self._kept)

    async def judge(self, task: Task, submission: Submission, pool: Pool) -> tuple[Judged, bool]:
        """Judge a submission; also tell whether the verdict was reused."""
        key = cache_key(task, submission)
        while True:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return found, True
            if (running := self._running.get(key)) is None:
                return await self._run(key, task, submission, pool), False
            await running.wait()

    async def _run(self, key: str, task: Task, submission: Submission, pool: Pool) -> Judged:
        done = self._running[key] = anyio.Event()
        try:
            judged = await judge(task, submission, pool)
        finally:
            del self._running[key]
            done.set()
        if judged.verdict.outcome is Outcome.SCORED:
            self._kept[key] = judged
            if len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return judged
