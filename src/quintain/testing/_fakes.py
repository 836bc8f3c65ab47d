"""Fakes for tests of code that is built on Quintain.

They keep the promises of what they stand for, so that code which passes with them needs no
patching to run for real. Not guaranteed: anything about isolation; nothing is executed here.
"""

from __future__ import annotations

from collections.abc import Callable

from anyio.lowlevel import checkpoint

from quintain.log import Record, TrialRecord
from quintain.sandbox import DEFAULT_LIMITS, Contention, Execution, ExecutionStatus, Program
from quintain.types import Freshness, IsolationReport, Limits, Trial

__all__ = ["FAKE_ISOLATION", "FakeClock", "FakePool", "MemoryLog", "executed"]

FAKE_ISOLATION = IsolationReport(
    backend="fake", freshness=Freshness.FRESH, walls={}, notes=("nothing was executed",)
)


def executed(
    stdout: bytes = b"",
    *,
    status: ExecutionStatus = ExecutionStatus.OK,
    exit_code: int | None = 0,
    signal: int | None = None,
    files: dict[str, bytes] | None = None,
) -> Execution:
    """Make the record of an execution that printed ``stdout`` and cost nothing."""
    return Execution(
        status=status,
        exit_code=exit_code,
        signal=signal,
        cpu_s=0.0,
        wall_s=0.0,
        peak_memory_kib=0,
        stdout=stdout,
        stderr=b"",
        stdout_truncated=False,
        stderr_truncated=False,
        files=files or {},
        contention=Contention(run_delay_s=0.0, load_1m=0.0),
        isolation=FAKE_ISOLATION,
    )


class FakePool:
    """A sandbox pool that asks a function what a program did.

    ::

        pool = FakePool(lambda program, limits: executed(b"42"))

    The function may raise `SandboxError`, as a pool would for a fault of its own. ``programs``
    holds what was asked for, in order.
    """

    def __init__(self, script: Callable[[Program, Limits], Execution]) -> None:
        self._script = script
        self.programs: list[Program] = []

    async def execute(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> Execution:
        """Return what the function says, after giving way to other tasks once."""
        await checkpoint()
        self.programs.append(program)
        return self._script(program, limits)


class FakeClock:
    """A clock that moves when told to; call it to read it.

    ::

        clock = FakeClock()
        budget = Budget(max_seconds=10, clock=clock)
        clock.advance(11)
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def __call__(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward."""
        self._now += seconds


class MemoryLog:
    """A log in memory: ``records`` in the order they were appended."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, record: Record) -> None:
        """Keep a record."""
        self.records.append(record)

    @property
    def trials(self) -> list[Trial]:
        """The trials, in the order they were appended."""
        return [record.trial for record in self.records if isinstance(record, TrialRecord)]
