"""The whole way with nothing faked but the policy: tasks, real worlds, verdicts, log, replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from quintain.interface import Interface, Parser
from quintain.judge import judge
from quintain.log import RunLog, recorded
from quintain.policy import SampleRequest, ScriptedSampler
from quintain.rollout import judge_in, rollout
from quintain.sandbox import open_pool
from quintain.tasks import FAMILIES, stream
from quintain.types import CasesSpec, Outcome, Split, Task

pytestmark = pytest.mark.anyio

PLAIN = Interface(name="plain", template="{prompt}", parser=Parser.WHOLE, stop=())


def _code_tasks(count: int) -> list[Task]:
    family = next(family for family in FAMILIES if family.domain == "code")
    tasks = stream(family, 1, Split.TRAIN, seed=0, count=count)
    assert all(isinstance(task.judge, CasesSpec) for task in tasks)
    return tasks


async def test_gold_earns_reward_wrong_answers_none_and_the_log_judges_alike_again(
    tmp_path: Path,
) -> None:
    tasks = _code_tasks(4)
    by_prompt = {task.prompt: task for task in tasks}

    def half_right(request: SampleRequest) -> str:
        task = by_prompt[request.prompt]
        return task.gold if request.seed % 2 == 0 else task.wrong[0].text

    async with open_pool(slots=2) as pool:
        with RunLog(tmp_path) as log:
            groups = await rollout(
                tasks,
                sampler=ScriptedSampler(half_right),
                interface=PLAIN,
                judge=judge_in(pool),
                log=log,
                seed=1,
                phase="train",
                samples=4,
            )
        found = {entry.trial.key: entry for entry in recorded(tmp_path)}
        for group in groups:
            for trial in group.trials_G:
                assert trial.verdict.outcome is Outcome.SCORED, trial.verdict.evidence
                assert trial.reward is not None
                assert trial.reward.value == float(trial.seed % 2 == 0)
                entry = found[trial.key]
                assert entry.trial == trial
                assert entry.isolation is not None
                assert entry.isolation.walls["net_namespace"]
                again = await judge(entry.task, entry.trial.submission, pool)
                assert again.verdict == trial.verdict
    assert len({trial.reward for group in groups for trial in group.trials_G}) == 2
    assert len(found) == 16
