"""Faults at every boundary: retried, then invalid, never reward 0."""

from __future__ import annotations

import itertools

import anyio
import anyio.lowlevel
import pytest
from rollout_examples import (
    JUDGE,
    TASKS,
    TOLERANT,
    Flaky,
    attempt,
    expected_keys,
    keys,
    make_task,
    right_answer,
    spoilt,
)

from quintain.errors import BoundaryError, JudgeError, LogError, SandboxError
from quintain.judge import Judged
from quintain.log import EventRecord, Record, TrialRecord
from quintain.policy import SampleRequest
from quintain.rollout import Capacity, FaultMonitor, Retry
from quintain.testing import MemoryLog
from quintain.types import Completion, Outcome, Submission, Task, Trial, Verdict

pytestmark = pytest.mark.anyio


async def test_a_sampler_fault_is_asked_again_with_the_same_seed() -> None:
    sampler = Flaky(itertools.chain([True, True], itertools.repeat(False)))
    log = MemoryLog()
    groups = await attempt(TASKS[:1], samples=1, sampler=sampler, log=log)
    (trial,) = groups[0].trials_G
    assert trial.verdict.outcome is Outcome.SCORED
    assert trial.attempts == 3
    assert list(sampler.calls.values()) == [3]
    events = [record for record in log.records if isinstance(record, EventRecord)]
    assert [event.kind for event in events] == ["sampler_fault", "sampler_fault"]
    assert "connection reset" in events[0].message


async def test_a_dead_sampler_makes_invalid_trials_never_reward_zero() -> None:
    sampler = Flaky(itertools.repeat(True))
    groups = await attempt(sampler=sampler, faults=TOLERANT, retry=Retry(limit=1))
    assert keys(groups) == expected_keys(TASKS, 4)
    for group in groups:
        for trial in group.trials_G:
            assert trial.verdict.outcome is Outcome.INVALID
            assert trial.reward is None
            assert trial.trajectory.turns == ()
            assert trial.attempts == 2
            assert "connection reset" in trial.verdict.evidence
    assert set(sampler.calls.values()) == {2}


@pytest.mark.parametrize(
    "fault",
    [SandboxError("no world"), JudgeError("lost"), None],
    ids=["sandbox", "judge", "verdict"],
)
async def test_a_judge_fault_is_judged_again_with_the_same_completion(
    fault: BoundaryError | None,
) -> None:
    seen: list[str] = []

    async def judge(task: Task, submission: Submission) -> tuple[Judged, bool]:
        seen.append(submission.text)
        if len(seen) < 3:
            if fault is not None:
                raise fault
            return spoilt("no world"), False
        return await right_answer(task, submission)

    sampler = Flaky(itertools.repeat(False))
    groups = await attempt(TASKS[:1], samples=1, sampler=sampler, judge=judge)
    (trial,) = groups[0].trials_G
    assert trial.verdict.outcome is Outcome.SCORED
    assert trial.attempts == 3
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert sampler.calls.total() == 1


async def test_a_judge_that_stays_broken_makes_invalid_trials_that_keep_their_completion() -> None:
    async def judge(task: Task, submission: Submission) -> tuple[Judged, bool]:
        raise SandboxError("no \ud800 world")

    groups = await attempt(judge=judge, faults=TOLERANT)
    for group in groups:
        for trial in group.trials_G:
            assert trial.verdict.outcome is Outcome.INVALID
            assert trial.reward is None
            assert trial.trajectory.turns
            assert trial.attempts == 3
            assert "no \\ud800 world" in trial.verdict.evidence


async def test_a_sampler_or_judge_that_never_answers_is_a_fault_not_a_hang() -> None:
    class Silent(Flaky):
        async def sample(self, request: SampleRequest) -> Completion:
            await anyio.sleep_forever()
            raise AssertionError

    async def silent(task: Task, submission: Submission) -> tuple[Judged, bool]:
        await anyio.sleep_forever()
        raise AssertionError

    retry = Retry(limit=1, timeout_s=0.01)
    for changes in ({"sampler": Silent(itertools.repeat(False))}, {"judge": silent}):
        groups = await attempt(TASKS[:1], retry=retry, **changes)
        for trial in groups[0].trials_G:
            assert trial.verdict.outcome is Outcome.INVALID
            assert trial.verdict.evidence == "no answer within 0.01 s"


async def test_an_abstaining_judge_has_no_reward_and_is_no_fault() -> None:
    async def abstain(task: Task, submission: Submission) -> tuple[Judged, bool]:
        return Judged(verdict=Verdict(outcome=Outcome.NOT_APPLICABLE, judge=JUDGE)), False

    monitor = FaultMonitor(limit=0.0, after=1)
    groups = await attempt(judge=abstain, faults=monitor)
    assert monitor.share == 0
    assert {trial.reward for group in groups for trial in group.trials_G} == {None}


async def test_too_many_invalid_trials_stop_the_rollout_and_name_the_commonest_reason() -> None:
    count = itertools.count()
    log = MemoryLog()

    async def judge(task: Task, submission: Submission) -> tuple[Judged, bool]:
        number = next(count)
        if number % 3 == 0:
            return spoilt("disk on fire" if number % 2 else "flood"), False
        return await right_answer(task, submission)

    tasks = [make_task(number) for number in range(50)]
    with pytest.raises(BoundaryError, match=r"more than 20%.*(disk on fire|flood)") as caught:
        await attempt(tasks, judge=judge, log=log, retry=Retry(limit=0))
    assert "resume" in caught.value.hint
    assert 32 <= len(log.trials) < 200


async def test_a_bug_in_the_judge_is_raised_as_itself_and_leaves_finished_trials_logged() -> None:
    log = MemoryLog()
    count = itertools.count()

    async def judge(task: Task, submission: Submission) -> tuple[Judged, bool]:
        if next(count) == 7:
            raise ZeroDivisionError("a bug")
        return await right_answer(task, submission)

    with pytest.raises(ZeroDivisionError, match="a bug"):
        await attempt(judge=judge, log=log, capacity=Capacity(sampling=4, judging=1))
    assert len(log.trials) == 7


async def test_a_log_that_cannot_be_written_stops_the_rollout() -> None:
    class Full(MemoryLog):
        def append(self, record: Record) -> None:
            if isinstance(record, TrialRecord):
                raise LogError("no space left")
            super().append(record)

    heard: list[Trial] = []
    with pytest.raises(LogError, match="no space"):
        await attempt(log=Full(), on_trial=heard.append)
    assert heard == []


async def test_cancelling_leaves_only_acknowledged_trials() -> None:
    log, heard = MemoryLog(), list[Trial]()
    with anyio.CancelScope() as scope:

        def hear(trial: Trial) -> None:
            heard.append(trial)
            if len(heard) == 5:
                scope.cancel()

        await attempt(log=log, on_trial=hear)
    assert scope.cancelled_caught
    assert heard == log.trials
