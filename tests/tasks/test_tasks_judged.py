"""Gold answers pass and wrong ones fail where it counts: in the real sandbox."""

from __future__ import annotations

import anyio
import pytest

from quintain.judge import judge, reward
from quintain.sandbox import Pool, open_pool
from quintain.tasks import FAMILIES, Family, stream
from quintain.types import Split, Submission, Task

TASKS_A_LEVEL = 2


async def value(task: Task, text: str, pool: Pool) -> float:
    worth = reward((await judge(task, Submission(text=text), pool)).verdict, task.reward)
    assert worth is not None
    return worth.value


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("split", Split)
def test_gold_is_paid_and_every_known_wrong_answer_is_not(family: Family, split: Split) -> None:
    async def run() -> None:
        async with open_pool() as pool:
            for level in range(1, family.levels + 1):
                tasks = stream(family, level, split, 11, TASKS_A_LEVEL)
                for task in tasks:
                    assert await value(task, task.gold, pool) == 1.0, task.gold
                    for text in ("", task.prompt, *(wrong.text for wrong in task.wrong)):
                        assert await value(task, text, pool) == 0.0, (task.prompt, text)

    anyio.run(run)
