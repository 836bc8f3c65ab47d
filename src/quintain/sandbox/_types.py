"""What goes into a sandbox and what comes out of it.

Invariant: everything here is a plain value; nothing refers to a living process. An `Execution`
describes what the program did, or which limit ended it. A fault of the sandbox itself is not
an `Execution`: it is raised as `quintain.errors.SandboxError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from quintain.types import IsolationReport, Limits, Noun

__all__ = [
    "DEFAULT_LIMITS",
    "Contention",
    "Execution",
    "ExecutionStatus",
    "Pool",
    "Program",
    "SecurityEvent",
    "SecurityEventKind",
    "python_program",
]


DEFAULT_LIMITS = Limits()
"""What a program may use when nobody said otherwise."""


class ExecutionStatus(StrEnum):
    """How an execution ended."""

    OK = "ok"
    """It exited with code 0 inside all limits."""
    RUNTIME_ERROR = "runtime_error"
    """It exited with another code, or a signal that no limit of ours sent."""
    CPU_LIMIT = "cpu_limit"
    WALL_LIMIT = "wall_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    PROCESS_LIMIT = "process_limit"
    """It met the process limit and did not end well."""
    DISK_LIMIT = "disk_limit"
    """It filled its disk, in bytes or in inodes, and did not end well."""
    COMPILE_ERROR = "compile_error"
    INVALID = "invalid"
    """The wall guard ended it while the sandbox waited for a core: not the program's fault."""


class Program(Noun, frozen=True, kw_only=True):
    """One command for a fresh world.

    Its working directory is ``/work``, its temporary directory ``/tmp``; both are new and empty
    but for ``files``. The environment is fixed (``PATH``, ``HOME``, ``LANG``, ``TZ``,
    ``PYTHONHASHSEED`` and a few thread counts) plus ``env``.
    """

    argv: tuple[str, ...]
    """``("python", "FILE.py", …)`` starts from the warm interpreter; anything else is executed."""
    build: tuple[str, ...] = ()
    """A command that must succeed first, in the same world and under the same limits, its output
    on stderr, for instance ``("gcc", "main.c", "-o", "main")``; else the status is
    `COMPILE_ERROR`, whatever ended it."""
    files: Mapping[str, bytes] = {}
    """Path relative to ``/work`` to content."""
    stdin: bytes = b""
    env: Mapping[str, str] = {}
    fetch: tuple[str, ...] = ()
    """Paths relative to ``/work`` of regular files to bring back; absent ones are left out."""
    loopback: bool = False
    """Whether 127.0.0.1 and ::1 work inside the world. Nothing else is ever reachable."""


def python_program(
    source: str,
    *,
    files: Mapping[str, bytes] | None = None,
    stdin: bytes = b"",
    fetch: tuple[str, ...] = (),
) -> Program:
    """Make the program that runs ``source`` as ``python main.py``.

    >>> python_program("print(1)").argv
    ('python', 'main.py')
    """
    laid = {**(files or {}), "main.py": source.encode("utf-8", "surrogatepass")}
    return Program(argv=("python", "main.py"), files=laid, stdin=stdin, fetch=fetch)


class Contention(Noun, frozen=True, kw_only=True):
    """How hard it was to get a core during an execution."""

    run_delay_s: float
    """Seconds that the program was ready to run and had no core, its own doing left out."""
    load_1m: float
    """Load average of the host over one minute."""


class SecurityEventKind(StrEnum):
    """What happened that an auditor would ask about."""

    LIMIT_KILL = "limit_kill"
    """A limit ended the program."""
    REFUSED_OUTPUT = "refused_output"
    """A file that was to be fetched was a link, a device, or too large."""
    DENIED_CALL = "denied_call"
    """A system call that kills ended it. Calls that only fail leave no trace."""


class SecurityEvent(Noun, frozen=True, kw_only=True):
    """One such happening."""

    kind: SecurityEventKind
    detail: str


class Execution(Noun, frozen=True, kw_only=True):
    """What one program did."""

    status: ExecutionStatus
    exit_code: int | None
    """None when a signal ended it."""
    signal: int | None
    cpu_s: float
    """Summed over all its processes and threads."""
    wall_s: float
    peak_memory_kib: int
    stdout: bytes
    stderr: bytes
    stdout_truncated: bool
    stderr_truncated: bool
    files: Mapping[str, bytes]
    """The fetched files that existed as regular files below ``/work`` and fitted the limit."""
    contention: Contention
    isolation: IsolationReport
    note: str = ""
    """One line for people: what a limit did, which outputs were refused and why."""
    events: tuple[SecurityEvent, ...] = ()


class Pool(Protocol):
    """Worlds ready to run programs; many executions may be awaited at once."""

    async def execute(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> Execution:
        """Run a program in a fresh world and return what it did.

        Raises `UserError` for a program that cannot be described (an absolute or escaping path)
        and `SandboxError` only for faults of the sandbox.
        """
        ...
