"""The fakes keep the promises of what they stand for."""

from __future__ import annotations

import pytest

import quintain.testing
from quintain.errors import SandboxError
from quintain.log import EventRecord
from quintain.sandbox import Execution, ExecutionStatus, Pool, Program, python_program
from quintain.testing import FakeClock, FakePool, MemoryLog, executed
from quintain.types import Limits

pytestmark = pytest.mark.anyio


async def test_a_fake_pool_answers_what_its_function_says_and_remembers_what_was_asked() -> None:
    def script(program: Program, limits: Limits) -> Execution:
        if program.stdin == b"fail":
            raise SandboxError("no world")
        return executed(program.stdin, status=ExecutionStatus.OK)

    fake = FakePool(script)
    pool: Pool = fake
    program = python_program("print(input())", stdin=b"hello")
    assert (await pool.execute(program)).stdout == b"hello"
    with pytest.raises(SandboxError, match="no world"):
        await pool.execute(python_program("", stdin=b"fail"), Limits(cpu_s=1))
    assert fake.programs[0] == program
    assert len(fake.programs) == 2


async def test_a_fake_clock_moves_only_when_told() -> None:
    clock = FakeClock(5.0)
    assert (clock(), clock()) == (5.0, 5.0)
    clock.advance(2.5)
    assert clock() == 7.5


async def test_a_memory_log_keeps_records_in_order() -> None:
    log = MemoryLog()
    events = [EventRecord(kind="a", message=str(number), at=0.0) for number in range(3)]
    for event in events:
        log.append(event)
    assert log.records == events
    assert log.trials == []


async def test_every_exported_name_exists_once() -> None:
    names = quintain.testing.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(quintain.testing, name) for name in names)
