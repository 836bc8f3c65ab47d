"""What is left of an execution for an auditor: digests, limits, how it ended, what it tried.

Invariant: a record is derived from plain values alone, holds no content of the program, its input
or its output, and can always be stored: text that came from a program is cut and escaped.
Not guaranteed: that a call which failed left a trace. Only what ended a program, or was refused
from outside it, is seen.
"""

from __future__ import annotations

import signal

from quintain.codec import digest
from quintain.ids import content_id
from quintain.sandbox._types import (
    Execution,
    ExecutionStatus,
    Program,
    SecurityEvent,
    SecurityEventKind,
)
from quintain.sandbox._walls import DEFAULT_WALLS
from quintain.types import Limits, Noun

__all__ = ["AuditRecord", "audit"]

_DETAIL_CHARACTERS = 200
_EVENTS = 100
_LIMITS = {
    ExecutionStatus.CPU_LIMIT: "cpu",
    ExecutionStatus.WALL_LIMIT: "wall",
    ExecutionStatus.MEMORY_LIMIT: "memory",
    ExecutionStatus.OUTPUT_LIMIT: "output",
    ExecutionStatus.PROCESS_LIMIT: "processes",
    ExecutionStatus.DISK_LIMIT: "disk",
    ExecutionStatus.INVALID: "wall",
}


class AuditRecord(Noun, frozen=True, kw_only=True):
    """What a log needs to account for one execution, without its content."""

    command: str
    """Hash of command, build step, variables, what was to be fetched, and loopback."""
    inputs: str
    """Hash of the files laid into the world and of stdin."""
    image: str
    """The root that it ran in: a digest, or ``host``."""
    limits: Limits
    isolation: str
    """`codec.digest` of the isolation report, by which the trial log has the whole of it."""
    missing_walls: tuple[str, ...]
    """Walls required by default that did not stand."""
    status: ExecutionStatus
    """`INVALID` means that the wall guard ended it while it waited for a core."""
    exit_code: int | None
    signal: int | None
    cpu_s: float
    wall_s: float
    run_delay_s: float
    """Seconds that it was ready to run and had no core."""
    events: tuple[SecurityEvent, ...]
    """Limit kills, refused outputs, calls that kill; at most 100."""

    @property
    def program(self) -> str:
        """Hash of everything that was run; equal programs have equal hashes."""
        return content_id(self.command, self.inputs)


def audit(
    program: Program, limits: Limits, execution: Execution, *, image: str = "host"
) -> AuditRecord:
    """Make the record of an execution of ``program`` under ``limits``."""
    report = execution.isolation
    return AuditRecord(
        command=_command(program),
        inputs=_inputs(program),
        image=image,
        limits=limits,
        isolation=digest(report),
        missing_walls=tuple(sorted(w for w in DEFAULT_WALLS if not report.walls.get(w, False))),
        status=execution.status,
        exit_code=execution.exit_code,
        signal=execution.signal,
        cpu_s=execution.cpu_s,
        wall_s=execution.wall_s,
        run_delay_s=execution.contention.run_delay_s,
        events=_events(execution),
    )


def _command(program: Program) -> str:
    parts: list[str | bool | int] = []
    for words in (program.argv, program.build, program.fetch):
        parts += [len(words), *words]
    for name in sorted(program.env):
        parts += [name, program.env[name]]
    return content_id(*parts, program.loopback)


def _inputs(program: Program) -> str:
    parts: list[str | bytes] = []
    for path in sorted(program.files):
        parts += [path, program.files[path]]
    return content_id(*parts, program.stdin)


def _events(execution: Execution) -> tuple[SecurityEvent, ...]:
    """Return what the backend reported, completed from how the execution ended."""
    found = [(event.kind, event.detail) for event in execution.events]
    kinds = {kind for kind, _ in found}
    limit = _LIMITS.get(execution.status)
    if limit and SecurityEventKind.LIMIT_KILL not in kinds:
        found.append((SecurityEventKind.LIMIT_KILL, limit))
    if execution.signal == signal.SIGSYS and SecurityEventKind.DENIED_CALL not in kinds:
        found.append((SecurityEventKind.DENIED_CALL, "killed by SIGSYS"))
    return tuple(
        SecurityEvent(kind=kind, detail=_storable(detail)) for kind, detail in found[:_EVENTS]
    )


def _storable(text: str) -> str:
    """Cut and escape text that a program may have chosen."""
    return text[:_DETAIL_CHARACTERS].encode("ascii", "backslashreplace").decode()
