"""Tasks and a way to judge many submissions in one real pool, for the tests of the judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio

from quintain.judge import Judged, judge, reward, wire
from quintain.sandbox import open_pool
from quintain.types import Case, CasesSpec, Limits, Reward, Split, Submission, Task

LIMITS = Limits(cpu_s=2.0, wall_s=10.0, memory_mib=256, processes=16)


def cases(pairs: Sequence[tuple[tuple[object, ...], object]]) -> tuple[Case, ...]:
    return tuple(
        Case(args=wire.encode(args), expected=wire.encode(expected)) for args, expected in pairs
    )


def cases_task(spec: CasesSpec, *, limits: Limits = LIMITS, image: str = "host") -> Task:
    return Task(
        family="test",
        family_version="1",
        domain="code",
        level=1,
        split=Split.TRAIN,
        problem=spec.entry,
        phrasing="",
        prompt="",
        gold="",
        wrong=(),
        judge=spec,
        limits=limits,
        image=image,
    )


TOTAL = cases_task(
    CasesSpec(
        entry="total",
        cases=cases(
            [
                (([1, 2, 3],), 6),
                (([],), 0),
                (([50, 60],), 110),
                (([-7],), -7),
                (([2**70, 1],), 2**70 + 1),
            ]
        ),
    )
)
"""A function: the sum of a list."""

SHOUT = cases_task(
    CasesSpec(
        entry="answer",
        expression=True,
        parameters=("s",),
        cases=cases([(("abc",), "ABC!"), (("",), "!"), (("x y",), "X Y!")]),
    )
)
"""An expression: upper case and an exclamation mark."""


def judge_all(tasks: Mapping[str, tuple[Task, str]]) -> dict[str, Judged]:
    """Judge named submissions in one pool, in turn: attacks must not slow each other down."""

    async def run() -> dict[str, Judged]:
        async with open_pool() as pool:
            return {
                name: await judge(task, Submission(text=text), pool)
                for name, (task, text) in tasks.items()
            }

    return anyio.run(run)


def worth(task: Task, judged: Judged) -> Reward | None:
    return reward(judged.verdict, task.reward)
