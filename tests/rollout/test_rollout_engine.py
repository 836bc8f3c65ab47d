"""Every attempt ends exactly once; order, capacity and memory."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_examples import (
    CODE,
    TASKS,
    Flaky,
    attempt,
    expected_keys,
    keys,
    make_task,
    right_answer,
)

from quintain.errors import SandboxError
from quintain.judge import JudgeCache, Judged, wire
from quintain.log import RunLog, recorded
from quintain.policy import SampleRequest, ScriptedSampler
from quintain.rollout import Capacity, FaultMonitor, judge_in
from quintain.sandbox import ExecutionStatus
from quintain.testing import FAKE_ISOLATION, FakePool, MemoryLog, executed
from quintain.types import (
    Case,
    CasesSpec,
    Completion,
    Group,
    Outcome,
    Submission,
    Task,
    Trial,
    TrialKey,
)

pytestmark = pytest.mark.anyio


async def test_groups_are_complete_in_task_order_with_rewards_costs_and_seeds() -> None:
    log = MemoryLog()
    heard: list[Trial] = []
    groups = await attempt(sampler=Flaky(itertools.repeat(False)), log=log, on_trial=heard.append)
    assert [group.task for group in groups] == TASKS
    assert keys(groups) == expected_keys(TASKS, 4)
    assert heard == log.trials
    assert sorted(trial.id for trial in heard) == sorted(
        trial.id for group in groups for trial in group.trials_G
    )
    seeds = {trial.seed for trial in heard}
    assert len(seeds) == 24
    for trial in heard:
        assert trial.reward is not None
        assert trial.reward.value == float(trial.seed % 2 == 0)
        assert (trial.costs.sampled_tokens, trial.costs.sandbox_cpu_s) == (3, 0.5)
        assert (trial.attempts, trial.policy.name) == (1, "flaky")
        assert trial.finished_at > 0
    assert len({trial.reward.value for trial in heard if trial.reward}) == 2


async def test_a_trial_is_in_the_log_before_anybody_hears_of_it() -> None:
    log = MemoryLog()

    def check(trial: Trial) -> None:
        assert log.trials[-1] == trial

    await attempt(log=log, on_trial=check)
    assert len(log.trials) == 24


async def test_what_a_trial_refers_to_is_logged_before_it(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        groups = await attempt(log=log)
    found = {entry.trial.key: entry for entry in recorded(tmp_path)}
    for group in groups:
        for trial in group.trials_G:
            entry = found[trial.key]
            assert (entry.trial, entry.task, entry.interface) == (trial, group.task, CODE)
            assert entry.isolation == FAKE_ISOLATION


async def test_seeds_depend_on_run_phase_step_task_and_sample_but_not_on_order() -> None:
    base = await attempt()
    backwards = await attempt(TASKS[::-1], capacity=Capacity(sampling=1, judging=1))
    seed = {trial.key: trial.seed for group in base for trial in group.trials_G}
    assert seed == {trial.key: trial.seed for group in backwards for trial in group.trials_G}
    for change in ({"seed": 6}, {"phase": "eval"}, {"step": 4}):
        other = await attempt(**change)
        found = {trial.seed for group in other for trial in group.trials_G}
        assert found.isdisjoint(seed.values())


async def test_results_do_not_depend_on_the_order_in_which_attempts_finish() -> None:
    def essence(groups: list[Group]) -> list[tuple[TrialKey, str, float | None]]:
        return [
            (trial.key, trial.submission.text, trial.reward.value if trial.reward else None)
            for group in groups
            for trial in group.trials_G
        ]

    first, second = [
        essence(await attempt(sampler=Flaky(itertools.repeat(False), random.Random(order))))
        for order in (1, 2)
    ]
    assert first == second


@settings(max_examples=40, deadline=None)
@given(
    order=st.integers(0, 2**32),
    sampling=st.integers(1, 9),
    judging=st.integers(1, 5),
    samples=st.integers(1, 5),
    count=st.integers(0, 6),
    known=st.sets(st.integers(0, 29)),
)
def test_every_attempt_ends_exactly_once_under_any_faults_order_and_capacity(
    order: int, sampling: int, judging: int, samples: int, count: int, known: set[int]
) -> None:
    draw = random.Random(order)

    async def judge(task: Task, submission: Submission) -> tuple[Judged, bool]:
        for _ in range(draw.randrange(4)):
            await anyio.lowlevel.checkpoint()
        if draw.random() < 0.3:
            raise SandboxError("no world")
        return await right_answer(task, submission)

    async def main() -> None:
        tasks = TASKS[:count]
        earlier = await attempt(tasks, samples=samples)
        trials = [trial for group in earlier for trial in group.trials_G]
        kept = {trial.key: trial for number, trial in enumerate(trials) if number in known}
        log, heard = MemoryLog(), list[Trial]()
        groups = await attempt(
            tasks,
            sampler=Flaky(iter(lambda: draw.random() < 0.3, None), draw),
            judge=judge,
            log=log,
            samples=samples,
            capacity=Capacity(sampling=sampling, judging=judging),
            done=kept,
            faults=FaultMonitor(limit=1.0),
            on_trial=heard.append,
        )
        assert keys(groups) == expected_keys(tasks, samples)
        logged = Counter(trial.key for trial in log.trials)
        assert logged == Counter(set(expected_keys(tasks, samples)) - kept.keys())
        assert heard == log.trials
        for group in groups:
            for trial in group.trials_G:
                assert (trial.reward is None) == (trial.verdict.outcome is Outcome.INVALID)
                assert trial.key not in kept or trial is kept[trial.key]

    anyio.run(main)


async def test_capacities_are_kept_and_sampling_and_judging_overlap() -> None:
    now, most, overlap = Counter[str](), Counter[str](), [False]

    def entered(what: str) -> None:
        now[what] += 1
        most[what] = max(most[what], now[what])
        overlap[0] = overlap[0] or (now["sampling"] > 0 and now["judging"] > 0)

    class Counting(Flaky):
        async def sample(self, request: SampleRequest) -> Completion:
            entered("sampling")
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            now["sampling"] -= 1
            return await super().sample(request)

    async def judge(task: Task, submission: Submission) -> tuple[Judged, bool]:
        entered("judging")
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        now["judging"] -= 1
        return await right_answer(task, submission)

    sampler = Counting(itertools.repeat(False))
    await attempt(sampler=sampler, judge=judge, capacity=Capacity(sampling=5, judging=2))
    assert most == {"sampling": 5, "judging": 2}
    assert overlap[0]


async def test_a_slow_judge_holds_up_the_sampler_so_that_memory_stays_bounded() -> None:
    release = anyio.Event()
    sampler = Flaky(itertools.repeat(False))

    async def stuck(task: Task, submission: Submission) -> tuple[Judged, bool]:
        await release.wait()
        return await right_answer(task, submission)

    tasks = [make_task(number) for number in range(100)]
    capacity = Capacity(sampling=4, judging=2)
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await attempt(tasks, sampler=sampler, judge=stuck, capacity=capacity)

        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        # two are being judged, four wait for a judge, four are held by their samplers
        assert sampler.calls.total() == 10
        release.set()
    assert sampler.calls.total() == 400


async def test_identical_submissions_are_executed_once_and_marked_as_cached() -> None:
    pool = FakePool(lambda program, limits: executed(status=ExecutionStatus.CPU_LIMIT))
    case = Case(args=wire.encode(()), expected=wire.encode(1))
    spec = CasesSpec(entry="f", cases=(case,))
    task = msgspec.structs.replace(TASKS[0], judge=spec)
    source = "def f():\n    while True: pass\n"
    sampler = ScriptedSampler(lambda request: source)
    interface = msgspec.structs.replace(CODE, stop=())
    groups = await attempt(
        [task], sampler=sampler, judge=judge_in(pool), interface=interface, samples=6
    )
    trials = groups[0].trials_G
    assert {trial.submission.text for trial in trials} == {source}
    assert {trial.reward.value for trial in trials if trial.reward} == {0.0}
    assert Counter(trial.costs.cached for trial in trials) == {False: 1, True: 5}
    assert len(pool.programs) == 1


async def test_rollouts_may_share_a_cache_that_is_still_empty() -> None:
    pool = FakePool(lambda program, limits: executed(status=ExecutionStatus.CPU_LIMIT))
    case = Case(args=wire.encode(()), expected=wire.encode(1))
    task = msgspec.structs.replace(TASKS[0], judge=CasesSpec(entry="f", cases=(case,)))
    cache = JudgeCache()
    for phase in ("train", "eval"):
        await attempt(
            [task],
            sampler=ScriptedSampler(lambda request: "def f(): return 1"),
            judge=judge_in(pool, cache),
            phase=phase,
        )
    assert len(pool.programs) == 1
