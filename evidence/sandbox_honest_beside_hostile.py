"""Honest programs are judged alike, idle or beside hostile ones on a machine ten times too busy.

A hundred submissions with known answers, half of them right and half wrong, are judged on an idle
pool, then again while twenty attacks of the shipped list run over and over on the same pool and ten
busy processes a core run outside it. Last, some are given a wall limit that they cannot meet beside
such a load: each that its guard ends must be invalid, with the wait for a core that ended it.
Takes about two minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import anyio
import msgspec

from _report import Seen, at_least, equal, main
from quintain.judge import judge, wire
from quintain.sandbox import Execution, ExecutionStatus, Pool, Program, open_pool
from quintain.testing._attacks import ATTACKS
from quintain.types import (
    Case,
    CasesSpec,
    Layer,
    Limits,
    Outcome,
    Split,
    Submission,
    Task,
    Verdict,
)

_HOSTILE = 20
_LOAD_EACH_CORE = 10
_AT_ONCE = 10
_GENEROUS = Limits(cpu_s=10, wall_s=120)
_TIGHT = Limits(cpu_s=10, wall_s=1)
_SOURCE = """\
def walk(start, steps):
    value = start
    for _ in range(steps):
        value = (value * 48271 + {added}) % 2147483647
    return value
"""


class _Recording:
    """A pool that keeps what its executions were, for a judge keeps only its verdict."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.seen = pool, list[Execution]()

    async def execute(self, program: Program, limits: Limits = _GENEROUS) -> Execution:
        done = await self.pool.execute(program, limits)
        self.seen.append(done)
        return done


def _answer(start: int, steps: int) -> int:
    value = start
    for _ in range(steps):
        value = (value * 48271 + 1) % 2147483647
    return value


def _task(index: int, steps: int, limits: Limits) -> Task:
    case = Case(
        args=wire.encode((index + 1, steps)), expected=wire.encode(_answer(index + 1, steps))
    )
    return Task(
        family="walk",
        family_version="1",
        domain="code",
        level=1,
        split=Split.HELD_OUT,
        problem=f"walk {index}",
        phrasing="plain",
        prompt="Write walk(start, steps).",
        gold=_SOURCE.format(added=1),
        wrong=(),
        judge=CasesSpec(entry="walk", cases=(case,)),
        limits=limits,
    )


async def _judge_all(pool: Pool, tasks: Sequence[Task]) -> list[Verdict]:
    """Judge a right submission to each even task, a wrong one to each odd task."""
    busy, verdicts = anyio.CapacityLimiter(_AT_ONCE), dict[int, Verdict]()

    async def one(index: int, task: Task) -> None:
        async with busy:
            submission = Submission(text=_SOURCE.format(added=1 + index % 2))
            verdicts[index] = (await judge(task, submission, pool)).verdict

    async with anyio.create_task_group() as group:
        for index, task in enumerate(tasks):
            group.start_soon(one, index, task)
    return [verdicts[index] for index in range(len(tasks))]


@contextmanager
def _load() -> Iterator[int]:
    """Keep the cores busy with processes outside the pool; gives their number."""
    count = _LOAD_EACH_CORE * len(os.sched_getaffinity(0))
    with ExitStack() as stack:
        for _ in range(count):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
        yield count


async def _attack(pool: Pool, first: int, counted: list[int]) -> None:
    """Run the attacks over and over, beginning at one of them, until cancelled."""
    while True:
        for attack in [*ATTACKS[first:], *ATTACKS[:first]]:
            for program in attack.programs:
                await pool.execute(program, attack.limits)
                counted.append(first)


async def _measure(count: int, steps: int) -> Seen:
    tasks = [_task(index, steps, _GENEROUS) for index in range(count)]
    tight = [_task(index, 40 * steps, _TIGHT) for index in range(_AT_ONCE)]
    attacks: list[int] = []
    async with open_pool(slots=_HOSTILE + _AT_ONCE) as pool:
        idle = await _judge_all(pool, tasks)
        honest, hurried = _Recording(pool), _Recording(pool)
        with _load() as load:
            async with anyio.create_task_group() as group:
                for number in range(_HOSTILE):
                    first = number * len(ATTACKS) // _HOSTILE
                    group.start_soon(_attack, pool, first, attacks)
                await anyio.sleep(1)
                beside = await _judge_all(honest, tasks)
                late = await _judge_all(hurried, tight)
                group.cancel_scope.cancel()
    right = sum(verdict.score(Layer.FUNCTION) == 1 for verdict in idle)
    walled = [done for done in hurried.seen if "wall" in done.note]
    told = [done for done in walled if done.contention.run_delay_s > 0]
    invalid = [done for done in told if done.status is ExecutionStatus.INVALID]
    return Seen(
        bounds=(
            equal("right answers that scored 1 on the idle pool", right, (count + 1) // 2),
            equal("verdicts that changed beside the hostile ones", _changed(idle, beside), 0),
            at_least("attacks run beside them", len(attacks), _HOSTILE),
            at_least("wall kills of those with a tight guard", len(walled), 1),
            equal("wall kills marked invalid with a wait for a core", len(invalid), len(walled)),
            equal("invalid verdicts on them", _invalid(late), len(walled)),
        ),
        figures={
            "busy processes outside the pool": str(load),
            "longest wait of an honest program for a core": _longest(honest.seen),
            "longest wait of one with a tight guard": _longest(hurried.seen),
            "load average at the end": f"{os.getloadavg()[0]:.1f}",
        },
    )


def _changed(idle: Sequence[Verdict], beside: Sequence[Verdict]) -> int:
    """Count the verdicts that differ in anything, evidence included."""
    pairs = zip(idle, beside, strict=True)
    return sum(msgspec.to_builtins(one) != msgspec.to_builtins(two) for one, two in pairs)


def _invalid(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.outcome is Outcome.INVALID for verdict in verdicts)


def _longest(seen: Sequence[Execution]) -> str:
    return f"{max((done.contention.run_delay_s for done in seen), default=0):.1f} s"


def _check(arguments: argparse.Namespace) -> Seen:
    return anyio.run(_measure, arguments.programs, arguments.steps)


if __name__ == "__main__":
    main(
        __file__,
        __doc__,
        _check,
        [("programs", 100, "honest programs"), ("steps", 1_500_000, "loop steps of each")],
    )
