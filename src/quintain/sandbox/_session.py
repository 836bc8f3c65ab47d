"""A world that lives through an episode: commands, files and services that share it.

Commands of a session run one at a time. All of them together are held to the memory, process,
disk and inode limits that the session was opened with; processor time, wall time and output are
counted for each command. A command that passes a limit ends with everything it started;
services go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import PurePosixPath
from typing import Protocol

import msgspec

from quintain.errors import SandboxError, UserError
from quintain.sandbox._types import DEFAULT_LIMITS, Execution, Pool, Program
from quintain.types import Limits

__all__ = ["Service", "Session", "SessionPool"]


class SessionPool(Pool, Protocol):
    """A pool that can also open sessions."""

    def open(self, limits: Limits = DEFAULT_LIMITS) -> AbstractAsyncContextManager[Session]:
        """Make a world that stays until the context ends, with everything in it.

        ``limits`` bound its memory, processes, disk and inodes as a whole, and are the default
        for each command.
        """
        ...


class _Launcher(Protocol):
    """What a session needs of its pool."""

    async def execute_with(
        self, program: Program, limits: Limits, options: Mapping[str, object]
    ) -> Execution: ...

    async def start_service(
        self, program: Program, limits: Limits, options: Mapping[str, object]
    ) -> int: ...

    async def tell(self, header: dict[str, object]) -> None: ...


class Service:
    """A program that goes on in the background of a session."""

    def __init__(self, session: Session, pid: int, log: str) -> None:
        self._session, self._pid, self.log = session, pid, log

    async def output(self) -> bytes:
        """Return what it has written to stdout and stderr so far."""
        return await self._session.read(self.log)

    async def stop(self) -> None:
        """Kill it and what it started; does nothing when it has ended."""
        await self._session._stop(self._pid)


class Session:
    """One world that stays; made by ``pool.open``."""

    def __init__(self, launcher: _Launcher, index: int, limits: Limits) -> None:
        self._launcher, self._index, self.limits = launcher, index, limits
        self._services = 0

    async def run(self, program: Program, limits: Limits | None = None) -> Execution:
        """Run a command in this world; its ``files`` are laid over what is there.

        ``limits`` are for this command (None: the session's own); its memory, process, disk and
        inode limits are still those of the session. Raises as `Pool.execute` does.
        """
        chosen = limits or self.limits
        shared = ("memory_mib", "processes", "disk_mib", "inodes")
        kept = {name: getattr(self.limits, name) for name in shared}
        held = msgspec.structs.replace(chosen, **kept)
        return await self._launcher.execute_with(program, held, {"session": self._index})

    async def read(self, path: str) -> bytes:
        """Return a file's content; raises `FileNotFoundError` when there is none.

        Relative paths are below ``/work``. Links are followed inside the world. Raises
        `UserError` when the file is not a regular one, or longer than the output limit.
        """
        done = await self._look("read", path)
        if done.stdout_truncated:
            kib = self.limits.output_kib
            raise UserError(f"{path}: longer than {kib} KiB", hint="raise limits.output_kib")
        return done.stdout

    async def list(self, path: str = ".") -> tuple[str, ...]:
        """Return the paths below a directory, in order; those of directories end with ``/``."""
        done = await self._look("list", path)
        names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        return tuple(sorted(names[:-1]))

    async def write(self, path: str, content: bytes) -> None:
        """Write a file below ``/work``, with the directories that it needs.

        Raises `UserError` when the world refuses it: a full disk, a directory of that name.
        """
        program = Program(argv=("write",), files={path: content})
        options = {"session": self._index, "kind": "write"}
        try:
            await self._launcher.execute_with(program, self.limits, options)
        except SandboxError as error:
            raise UserError(f"{path}: cannot be written: {error.message}") from error

    async def background(self, program: Program) -> Service:
        """Start a program that goes on while commands run; its output goes to a file."""
        self._services += 1
        log = f"/tmp/service-{self._services}.log"  # noqa: S108  the world's own
        options = {"session": self._index, "log": log}
        pid = await self._launcher.start_service(program, self.limits, options)
        return Service(self, pid, log)

    async def _look(self, kind: str, path: str) -> Execution:
        program = Program(argv=(str(PurePosixPath(path)),))
        options = {"session": self._index, "kind": kind}
        done = await self._launcher.execute_with(program, self.limits, options)
        if done.exit_code == 3:
            raise FileNotFoundError(path)
        if done.exit_code == 4:
            raise UserError(f"{path}: {done.stderr.decode('utf-8', 'replace')}")
        return done

    async def _stop(self, pid: int) -> None:
        await self._launcher.tell({"op": "stop", "session": self._index, "pid": pid})
