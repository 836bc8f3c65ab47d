from __future__ import annotations

import anyio
import msgspec
import pytest
from judging import SHOUT, TOTAL

from quintain.errors import SandboxError, UserError
from quintain.judge import JudgeCache, cache_key
from quintain.sandbox import Execution, Pool, Program, open_pool
from quintain.types import Limits, Outcome, Submission

RIGHT = Submission(text="s.upper() + '!'")


class Counting:
    """Counts what reaches a real pool; the first ``faults`` executions fail as a sandbox does."""

    def __init__(self, pool: Pool, faults: int = 0) -> None:
        self.pool = pool
        self.faults = faults
        self.executed = 0

    async def execute(self, program: Program, limits: Limits | None = None) -> Execution:
        self.executed += 1
        if self.executed <= self.faults:
            raise SandboxError("no room")
        return await self.pool.execute(program, limits or Limits())


def test_identical_requests_at_the_same_time_are_executed_once() -> None:
    async def run() -> tuple[int, list[bool]]:
        cache, reused = JudgeCache(), []
        async with open_pool() as pool:
            counting = Counting(pool)

            async def one() -> None:
                judged, again = await cache.judge(SHOUT, RIGHT, counting)
                assert judged.verdict.outcome is Outcome.SCORED
                reused.append(again)

            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(one)
            return counting.executed, reused

    executed, reused = anyio.run(run)
    assert executed == 1
    assert sorted(reused) == [False] + [True] * 7


def test_an_infrastructure_fault_is_neither_kept_nor_inherited() -> None:
    async def run() -> tuple[list[Outcome], int, int]:
        cache, outcomes = JudgeCache(), []
        async with open_pool() as pool:
            counting = Counting(pool, faults=1)

            async def one() -> None:
                judged, _ = await cache.judge(SHOUT, RIGHT, counting)
                outcomes.append(judged.verdict.outcome)

            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(one)
            return outcomes, counting.executed, len(cache)

    outcomes, executed, kept = anyio.run(run)
    assert outcomes.count(Outcome.INVALID) == 1
    assert outcomes.count(Outcome.SCORED) == 3
    assert (executed, kept) == (2, 1)


def test_a_cancelled_leader_leaves_the_work_to_the_next_in_line() -> None:
    async def run() -> bool:
        cache = JudgeCache()
        async with open_pool() as pool:
            async with anyio.create_task_group() as group:
                group.start_soon(cache.judge, SHOUT, RIGHT, pool)
                await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            judged, reused = await cache.judge(SHOUT, RIGHT, pool)
            return judged.verdict.outcome is Outcome.SCORED and not reused

    assert anyio.run(run)


def test_the_least_recently_used_verdict_goes_first() -> None:
    async def run() -> list[bool]:
        cache = JudgeCache(capacity=2)
        a, b, c = (Submission(text=text) for text in ("s", "s + '!'", "s.lower()"))
        async with open_pool() as pool:
            return [(await cache.judge(SHOUT, each, pool))[1] for each in (a, b, a, c, a, b)]

    assert anyio.run(run) == [False, False, True, False, True, False]


def test_a_cache_without_room_is_refused() -> None:
    with pytest.raises(UserError, match="capacity"):
        JudgeCache(capacity=0)


def test_a_key_follows_everything_a_verdict_depends_on() -> None:
    other = Submission(text="s.lower()\udc80")
    keys = {
        cache_key(SHOUT, RIGHT),
        cache_key(SHOUT, other),
        cache_key(TOTAL, RIGHT),
        cache_key(msgspec.structs.replace(SHOUT, image="other"), RIGHT),
        cache_key(msgspec.structs.replace(SHOUT, limits=Limits(cpu_s=1.0)), RIGHT),
    }
    assert len(keys) == 5
    assert cache_key(SHOUT, RIGHT) in keys
