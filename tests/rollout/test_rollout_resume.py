"""Budgets, trials already on record, and input that makes no sense."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rollout_examples import (
    CODE,
    TASKS,
    Flaky,
    attempt,
    echo,
    expected_keys,
    keys,
    make_task,
    right_answer,
)

from quintain.errors import UserError
from quintain.interface import Interface, Parser
from quintain.log import (
    EventRecord,
    RunLog,
    TrialRecord,
    done,
    recorded,
    records,
    segments_of,
)
from quintain.policy import SampleRequest, ScriptedSampler
from quintain.rollout import Budget, Capacity, Retry, rollout
from quintain.testing import FakeClock, MemoryLog
from quintain.types import Group

pytestmark = pytest.mark.anyio


async def test_trials_on_record_are_reused_and_only_the_missing_ones_made(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        interrupted = await attempt(log=log, budget=Budget(max_trials=10))
    assert len(interrupted) == 2
    on_record = done(tmp_path)
    sampler = Flaky(itertools.repeat(False))
    with RunLog(tmp_path) as log:
        groups = await attempt(log=log, sampler=sampler, done=on_record)
    assert keys(groups) == expected_keys(TASKS, 4)
    assert groups[:2] == interrupted
    assert sampler.calls.total() == 16
    logged = [entry.trial.key for entry in recorded(tmp_path)]
    assert sorted(logged, key=str) == sorted(keys(groups), key=str)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"seed": 6}, "seed"),
        (
            {"interface": Interface(name="b", template="{prompt}!", parser=Parser.WHOLE)},
            "interface",
        ),
    ],
)
async def test_a_trial_on_record_of_another_run_is_refused(
    changes: dict[str, object], name: str
) -> None:
    log = MemoryLog()
    await attempt(log=log)
    with pytest.raises(UserError, match=f"has {name}"):
        await attempt(done={trial.key: trial for trial in log.trials}, **changes)


async def test_a_spent_budget_begins_no_task_and_finishes_what_was_begun() -> None:
    log, budget = MemoryLog(), Budget(max_trials=11)
    groups = await attempt(log=log, budget=budget)
    assert keys(groups) == expected_keys(TASKS[:2], 4)
    assert (budget.used, len(log.trials)) == (8, 8)
    assert budget.stopped == "8 of 11 trials are used, 4 more do not fit"
    events = [record for record in log.records if isinstance(record, EventRecord)]
    assert [(event.kind, event.message) for event in events] == [("budget", budget.stopped)]
    assert await attempt(samples=1, budget=budget) == []


async def test_a_passed_deadline_begins_no_further_task() -> None:
    clock = FakeClock()
    budget = Budget(max_seconds=10, clock=clock)

    def slow(request: SampleRequest) -> str:
        clock.advance(1.5)
        return echo(request)

    capacity = Capacity(sampling=1, judging=1)
    groups = await attempt(sampler=ScriptedSampler(slow), budget=budget, capacity=capacity)
    assert 0 < len(groups) < len(TASKS)
    assert keys(groups) == expected_keys(TASKS[: len(groups)], 4)
    assert "10 s" in budget.stopped


async def test_a_task_given_twice_is_refused_before_anything_is_sampled() -> None:
    sampler = Flaky(itertools.repeat(False))
    with pytest.raises(UserError, match="comes twice"):
        await attempt([*TASKS, TASKS[0]], sampler=sampler)
    assert sampler.calls.total() == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"samples": 0},
        {"capacity": Capacity(sampling=0)},
        {"capacity": Capacity(judging=0)},
        {"retry": Retry(limit=-1)},
        {"retry": Retry(timeout_s=0)},
    ],
)
async def test_numbers_that_make_no_sense_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(UserError, match="must be"):
        await attempt(**changes)


async def test_groups_can_be_streamed_from_endless_tasks_without_being_kept() -> None:
    streamed: list[Group] = []
    groups = await rollout(
        map(make_task, itertools.count()),
        sampler=ScriptedSampler(echo),
        interface=lambda task: CODE,
        judge=right_answer,
        log=MemoryLog(),
        seed=0,
        phase="train",
        samples=2,
        budget=Budget(max_trials=40),
        on_group=streamed.append,
    )
    assert groups == []
    assert sorted(group.task.prompt for group in streamed) == sorted(map(str, range(20)))


ROLL_OUT_AND_WAIT = """
import sys
from pathlib import Path
import anyio
sys.path.insert(0, sys.argv[2])
from rollout_examples import TASKS, attempt
from quintain.log import RunLog, done

def tell(trial):
    print(trial.id, flush=True)
    sys.stdin.readline()  # the parent decides how far we get

run_dir = Path(sys.argv[1])
on_record = done(run_dir)
with RunLog(run_dir) as log:
    anyio.run(lambda: attempt(TASKS, log=log, done=on_record, on_trial=tell))
"""


def _live(run_dir: Path, most: int) -> list[str]:
    """Let a rollout report ``most`` trials and kill it while it reports the last of them."""
    here = str(Path(__file__).parent)
    heard: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", ROLL_OUT_AND_WAIT, str(run_dir), here],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for line in child.stdout:
            heard.append(line.strip())
            if len(heard) == most:
                child.send_signal(signal.SIGKILL)
                break
            child.stdin.write("\n")
            child.stdin.flush()
    return heard


def test_a_rollout_killed_again_and_again_makes_each_trial_exactly_once(tmp_path: Path) -> None:
    heard = [_live(tmp_path, most) for most in (3, 7, 100)]
    assert [len(ids) for ids in heard] == [3, 7, 14]
    every = [r.trial for r in records(tmp_path) if isinstance(r, TrialRecord)]
    assert [trial.id for trial in every] == [*itertools.chain.from_iterable(heard)]
    assert {trial.key for trial in every} == set(expected_keys(TASKS, 4))
    assert len(segments_of(tmp_path)) == 3
