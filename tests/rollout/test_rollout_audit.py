"""Every execution of a rollout in a real sandbox leaves one record in the audit log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from rollout_examples import CODE, make_task

from quintain.errors import LogError
from quintain.judge import judge
from quintain.judge.wire import encode
from quintain.log import AuditLog, RunLog, audited, verify
from quintain.policy import SampleRequest, ScriptedSampler
from quintain.rollout import Retry, judge_in, rollout
from quintain.sandbox import (
    AuditRecord,
    Execution,
    ExecutionStatus,
    Pool,
    SecurityEventKind,
    open_pool,
)
from quintain.testing import FakePool, MemoryLog, executed
from quintain.types import Case, CasesSpec, Group, Limits, Outcome, Submission, Task

pytestmark = pytest.mark.anyio

SPIN = "[0 for _ in iter(int, 1)]"


def _task(number: int) -> Task:
    spec = CasesSpec(
        entry="f",
        cases=(Case(args=encode((1,)), expected=encode(1)),),
        expression=True,
        parameters=("x",),
    )
    task = make_task(number)
    return Task(
        **{name: getattr(task, name) for name in task.__struct_fields__}
        | {"judge": spec, "limits": Limits(cpu_s=0.3)}
    )


async def _roll(
    pool: Pool, log: RunLog | MemoryLog, audit: Callable[[AuditRecord], None], samples: int
) -> list[Group]:
    def answer(request: SampleRequest) -> str:
        return SPIN if request.seed % 3 == 0 else f"x + {request.seed % 3 - 1}"

    return await rollout(
        [_task(0), _task(1)],
        sampler=ScriptedSampler(answer),
        interface=CODE,
        judge=judge_in(pool),
        log=log,
        audit=audit,
        seed=1,
        phase="train",
        samples=samples,
        retry=Retry(limit=2),
    )


async def test_every_execution_has_a_record_and_a_reused_verdict_has_none(tmp_path: Path) -> None:
    async with open_pool(slots=1) as pool:
        with RunLog(tmp_path) as log, AuditLog(tmp_path) as audit_log:
            groups = await _roll(pool, log, partial(audit_log.append, "execution"), samples=8)
    trials = [trial for group in groups for trial in group.trials_G]
    found = list(audited(tmp_path, "execution", AuditRecord))
    executions = sum(not trial.costs.cached for trial in trials)
    assert len(found) == executions
    assert 0 < executions < len(trials)
    assert verify(tmp_path) == ()
    assert {one.isolation for one in found} == {trial.isolation for trial in trials}
    assert {one.missing_walls for one in found} == {()}
    spun = [one for one in found if one.status is ExecutionStatus.CPU_LIMIT]
    assert len(spun) == len({t.task_id for t in trials if t.submission.text == SPIN}) > 0
    for one in spun:
        assert [event.kind for event in one.events] == [SecurityEventKind.LIMIT_KILL]
        assert one.cpu_s > 0.2


async def test_executions_that_gave_no_verdict_are_audited_too() -> None:
    def starved(*_: object) -> Execution:
        return executed(status=ExecutionStatus.INVALID, exit_code=None, signal=9)

    pool, found = FakePool(starved), list[AuditRecord]()
    groups = await _roll(pool, MemoryLog(), found.append, samples=1)
    assert {t.verdict.outcome for g in groups for t in g.trials_G} == {Outcome.INVALID}
    assert len(found) == len(pool.programs) == 2 * 3
    assert {one.status for one in found} == {ExecutionStatus.INVALID}
    assert {event.detail for one in found for event in one.events} == {"wall"}


async def test_an_audit_log_that_cannot_be_written_ends_the_rollout() -> None:
    def full(_: AuditRecord) -> None:
        raise LogError("no space")

    with pytest.raises(LogError, match="no space"):
        await _roll(FakePool(lambda *_: executed()), MemoryLog(), full, samples=1)


async def test_a_verdict_carries_the_records_of_its_executions() -> None:
    pool = FakePool(lambda *_: executed())
    judged = await judge(_task(0), Submission(text="x"), pool)
    (one,) = judged.audit
    assert (one.image, one.limits) == ("host", _task(0).limits)
    unparsable = await judge(_task(0), Submission(text="x +"), pool)
    assert unparsable.audit == ()
    assert len(pool.programs) == 1
