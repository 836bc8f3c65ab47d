"""The bubblewrap backend: the same walls from a program that distributions ship.

Each execution starts bubblewrap and a cold interpreter: tens of milliseconds. It keeps no
state and needs no launcher. What it does not do is in `KNOWN_FAILURES`.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio

from quintain.errors import UserError
from quintain.sandbox._bwrap_argv import bwrap_argv, world_environment
from quintain.sandbox._native import _seccomp
from quintain.sandbox._native._cgroup import Cgroups, SlotGroup
from quintain.sandbox._native._fetch import fetch
from quintain.sandbox._native._sys import memfd
from quintain.sandbox._native._verdict import Observed, status
from quintain.sandbox._types import (
    DEFAULT_LIMITS,
    Contention,
    Execution,
    ExecutionStatus,
    Program,
)
from quintain.sandbox._validate import check_program
from quintain.types import Freshness, IsolationReport, Limits

__all__ = ["KNOWN_FAILURES", "BwrapPool", "available", "open_bwrap_pool", "seccomp_file"]

_AS_ROOT = "started as root, its world runs as the host's root without capabilities: use native"

KNOWN_FAILURES = {
    "a_million_files": "the working directory is the host's: inodes are not limited",
    "filling_the_disk": "the working directory is the host's: only single files are limited",
    "shared_memory_is_a_sized_disk": "a file that is too large is the program's own error",
    "a_tree_thousands_deep": "inodes are not limited, and cleaning up takes the host's time",
    "memory_is_summed_over_children": "without control groups memory is limited for each process",
    "touching_all_memory": "without control groups a refused allocation is the program's error",
    "anonymous_files_are_charged": "without control groups nothing counts them",
    "processor_time_is_summed": "without control groups processor time is limited for each process",
    "spinning": "without control groups the processor limit is whole seconds",
    "forks_are_counted": "the limit holds; without control groups the status does not name it",
    "fork_bomb": "as above",
    "threads_are_counted": "as above",
    "kernel_settings_cannot_be_written": _AS_ROOT,
    "the_supervisor_cannot_be_looked_into": "the world's init is bubblewrap, with the same user id",
    "keys_and_rare_sockets_are_closed": _AS_ROOT,
    "no_terminal_to_type_into": "bubblewrap makes a /dev/console, and devpts of the world's own",
    "listening": "bubblewrap raises no Landlock wall",
}
"""Attacks that it does not hold, or whose end it names differently, and why."""

_STANDING = (
    "user_namespace",
    "mount_namespace",
    "pid_namespace",
    "ipc_namespace",
    "uts_namespace",
    "net_namespace",
    "read_only_root",
    "no_capabilities",
    "no_new_privs",
    "seccomp",
    "rlimits",
)


def available() -> bool:
    """Whether bubblewrap is installed."""
    return shutil.which("bwrap") is not None


@contextlib.contextmanager
def seccomp_file() -> Iterator[int]:
    """Give a descriptor from which bubblewrap reads the native backend's denied calls."""
    program = _seccomp.build(_seccomp.BASE + _seccomp.FINAL)
    fd = memfd("seccomp", program)
    again = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    os.close(fd)
    try:
        yield again
    finally:
        os.close(again)


@contextlib.asynccontextmanager
async def open_bwrap_pool(*, slots: int | None = None) -> AsyncIterator[BwrapPool]:
    """Open a pool whose worlds bubblewrap makes; ``slots`` is how many run at once.

    Raises `UserError` when bubblewrap or prlimit is not installed.
    """
    for name in ("bwrap", "prlimit"):
        if shutil.which(name) is None:
            raise UserError(f"{name} is not installed", hint="install bubblewrap and util-linux")
    pool = BwrapPool(slots or os.cpu_count() or 1)
    try:
        yield pool
    finally:
        pool.close()


class BwrapPool:
    """A `Pool` that starts bubblewrap for each execution."""

    def __init__(self, slots: int) -> None:
        self._cgroups = Cgroups()
        groups = [self._cgroups.slot(index) for index in range(slots)]
        self._groups, self._free = groups, list(groups)
        self._limiter = anyio.CapacityLimiter(slots)
        walls = {**dict.fromkeys(_STANDING, True), **self._cgroups.walls}
        walls |= {"landlock": False, "own_uid": False, "sampling": False}
        self.isolation = IsolationReport(
            backend="bwrap",
            freshness=Freshness.FRESH,
            walls=walls,
            notes=tuple(f"{name}: {why}" for name, why in KNOWN_FAILURES.items()),
        )

    def close(self) -> None:
        """Remove the control groups."""
        for group in self._groups:
            group.remove()

    async def execute(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> Execution:
        """Run a program in a world that bubblewrap makes; see `Pool.execute`."""
        check_program(program, limits)
        if program.build:
            raise UserError("build: the bwrap backend has no build step", hint="use native")
        async with self._limiter:
            group = self._free.pop()
            try:
                work = tempfile.mkdtemp(prefix="quintain-")
                try:
                    return await self._run(program, limits, group, work)
                finally:
                    with anyio.CancelScope(shield=True):
                        await _remove(work)
            finally:
                self._free.append(group)

    async def _run(
        self, program: Program, limits: Limits, group: SlotGroup, work: str
    ) -> Execution:
        _lay(work, program)
        group.begin(limits.memory_mib << 20, limits.processes + 8)
        with seccomp_file() as filter_fd, tempfile.TemporaryFile() as stdin:
            stdin.write(program.stdin)
            stdin.seek(0)
            argv = _command(program, limits, work, filter_fd, group.join_paths())
            process = subprocess.Popen(  # noqa: ASYNC220  a vfork and an exec
                argv,
                pass_fds=[filter_fd],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=world_environment({}),
            )
            run = _Run(process, limits, group)
            await run.watch()
        return run.execution(self.isolation, program, work)


class _Run:
    """One bubblewrap process under watch."""

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits, group: SlotGroup) -> None:
        self._process, self._limits, self._group = process, limits, group
        self._outputs = {1: bytearray(), 2: bytearray()}
        self._truncated = {1: False, 2: False}
        self._killed = ""
        self._started = time.monotonic()

    async def watch(self) -> None:
        """Drain, time and reap it; it is dead when this returns, cancelled or not."""
        watch, ended = os.pidfd_open(self._process.pid), False
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._drain, 1)
                group.start_soon(self._drain, 2)
                group.start_soon(self._clock)
                await anyio.wait_readable(watch)
                ended = True
                group.cancel_scope.cancel()
        finally:
            if not ended:
                self._kill("cancel")
            self._wall_s = time.monotonic() - self._started
            _, self._status, self._usage = _reap(self._process)
            os.close(watch)

    async def _drain(self, stream: int) -> None:
        pipe = self._process.stdout if stream == 1 else self._process.stderr
        assert pipe is not None  # noqa: S101  both were asked for
        os.set_blocking(pipe.fileno(), False)
        while True:
            await anyio.wait_readable(pipe)
            if not self._take(stream, pipe.fileno()):
                return

    def _take(self, stream: int, fd: int) -> bool:
        try:
            data = os.read(fd, 1 << 18)
        except BlockingIOError:
            return True
        room = (self._limits.output_kib << 10) - len(self._outputs[stream])
        self._outputs[stream] += data[:room]
        if len(data) > room:
            self._truncated[stream] = True
            self._kill("output")
        return bool(data)

    async def _clock(self) -> None:
        while not self._killed:
            await anyio.sleep(0.02)
            if time.monotonic() - self._started > self._limits.wall_s:
                self._kill("wall")
            elif self._group.counts_cpu and self._group.cpu_s() > self._limits.cpu_s:
                self._kill("cpu")

    def _kill(self, reason: str) -> None:
        self._killed = self._killed or reason
        if self._process.returncode is None:  # it may have ended with output in the pipe
            os.kill(self._process.pid, signal.SIGKILL)

    def execution(self, isolation: IsolationReport, program: Program, work: str) -> Execution:
        """Describe what it did."""
        for stream, pipe in ((1, self._process.stdout), (2, self._process.stderr)):
            if pipe is not None:
                before = -1  # nobody can write any more
                while len(self._outputs[stream]) != before:
                    before = len(self._outputs[stream])
                    self._take(stream, pipe.fileno())
                pipe.close()
        code, number = _ending(self._status, self._killed)
        spent = self._usage.ru_utime + self._usage.ru_stime
        cpu_s = self._group.cpu_s() if self._group.counts_cpu else spent
        oom_kills, refused_forks = self._group.end()
        killed = self._killed or ("cpu" if number == signal.SIGXCPU else "")
        seen = Observed(
            exit_code=code,
            killed=killed,
            cpu_s=cpu_s,
            cpu_limit_s=self._limits.cpu_s,
            oom_kills=oom_kills,
            refused_forks=refused_forks,
            disk_full=False,
            run_delay_s=0.0,
            wall_limit_s=self._limits.wall_s,
        )
        box = os.open(str(Path(work).parent), os.O_RDONLY | os.O_DIRECTORY)
        limit = self._limits.output_kib << 10
        files, refused = fetch(box, list(program.fetch), limit, Path(work).name)
        os.close(box)
        return Execution(
            status=ExecutionStatus(status(seen)),
            exit_code=code,
            signal=number,
            cpu_s=cpu_s,
            wall_s=self._wall_s,
            peak_memory_kib=(self._group.peak_bytes() or self._usage.ru_maxrss << 10) >> 10,
            stdout=bytes(self._outputs[1]),
            stderr=bytes(self._outputs[2]),
            stdout_truncated=self._truncated[1],
            stderr_truncated=self._truncated[2],
            files=files,
            contention=Contention(run_delay_s=0.0, load_1m=os.getloadavg()[0]),
            isolation=isolation,
            note="; ".join(f"output refused: {text}" for text in refused),
        )


async def _remove(folder: str) -> None:
    """Remove a tree of any depth and with any modes, which Python's own function cannot."""
    await anyio.run_process(["chmod", "-R", "u+rwX", folder], check=False, stderr=None)
    await anyio.run_process(["rm", "-rf", "--one-file-system", folder], check=False, stderr=None)


def _reap(process: subprocess.Popen[bytes]) -> tuple[int, int, resource.struct_rusage]:
    """Wait for it with its resource usage; what it started dies with it."""
    found = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(found[1])
    return found


def _ending(wait_status: int, killed: str) -> tuple[int | None, int | None]:
    """Read how the program ended: bubblewrap passes a signal on as 128 and its number."""
    if os.WIFSIGNALED(wait_status):
        return None, os.WTERMSIG(wait_status)
    code = os.WEXITSTATUS(wait_status)
    if killed or 128 < code < 160:
        return None, code - 128 if code > 128 else signal.SIGKILL
    return code, None


def _lay(work: str, program: Program) -> None:
    """Write the program's files where only the world will look."""
    Path(work).chmod(0o755)
    for name, content in program.files.items():
        path = Path(work, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _command(
    program: Program, limits: Limits, work: str, filter_fd: int, joins: list[str]
) -> list[str]:
    """Enter the control groups, set the limits, raise the walls, run the program."""
    enter = "".join(f"echo 0 > {shlex.quote(path)}; " for path in joins) + 'exec "$@"'
    argv = ["sh", "-c", enter, "sh", "prlimit", "--core=0", f"--cpu={int(limits.cpu_s) + 2}"]
    argv += [f"--fsize={limits.disk_mib << 20}", f"--nofile={limits.open_files}"]
    argv += [f"--nproc={limits.processes + 8}"]
    if not joins:
        argv += [f"--data={(limits.memory_mib << 20) + (64 << 20)}"]
    argv += ["--", *bwrap_argv(work, seccomp_fd=filter_fd, size_mib=limits.disk_mib)]
    for name, value in world_environment(program.env).items():
        argv += ["--setenv", name, value]
    return [*argv, "--", *program.argv]
