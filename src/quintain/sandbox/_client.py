"""Speak to a launcher: start it, send it programs, hand its replies to whoever waits.

The launcher is executed, never forked: the caller may hold locks in other threads.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

import quintain
from quintain.errors import SandboxError, UserError
from quintain.sandbox import _hints
from quintain.sandbox._root import HOST_ROOT, Root, bind_points
from quintain.sandbox._session import Session
from quintain.sandbox._types import (
    DEFAULT_LIMITS,
    Contention,
    Execution,
    ExecutionStatus,
    Program,
    SecurityEvent,
    SecurityEventKind,
)
from quintain.sandbox._validate import check_program
from quintain.sandbox._wire import Header, Reader, frame
from quintain.types import Freshness, IsolationReport, Limits

__all__ = ["NativePool", "start_launcher"]

_PACKAGE = Path(quintain.__file__).resolve().parent
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[2]); "
    "from quintain.sandbox._native._launcher import main; main(int(sys.argv[1]))"
)


class _Waiting:
    """One execution that somebody awaits."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.header: Header | None = None
        self.blobs: list[bytes] = []


class NativePool:
    """A `Pool` behind one launcher."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        connection: socket.socket,
        log: int,
        freshness: Freshness,
        root: Root,
    ) -> None:
        self._drift = root.drift
        self._process, self._connection, self._log = process, connection, log
        self._reader, self._lock = Reader(), anyio.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._next = 0
        self._broken = ""
        self.isolation = IsolationReport(backend="native", freshness=freshness, walls={})

    @property
    def launcher_pid(self) -> int:
        """The process that everything of this pool hangs below."""
        return self._process.pid

    # --- opening and closing -----------------------------------------------------------------

    async def connect(self, config: Header) -> None:
        """Send the configuration and wait until the worlds are ready."""
        await self._send(frame(config))
        while True:
            messages = list(self._reader.feed(await self._receive()))
            if messages:
                self._opened(messages[0][0])
                return

    def _opened(self, header: Header) -> None:
        if header["event"] == "broken":
            raise _hints.explain(header["problem"], header["errno"])
        prepared = header["prepared"]
        if prepared["problem"]:
            raise UserError(
                f"preload: {prepared['problem']}",
                hint="preload only what the interpreter running this can import",
            )
        self.isolation = IsolationReport(
            backend="native",
            freshness=self.isolation.freshness,
            walls=header["walls"],
            notes=(*_notes(header["walls"]), *_cold(prepared["threads"]), *self._drift),
        )

    def check(self, require: Collection[str]) -> None:
        """Raise `UserError` when a required wall does not stand."""
        missing = [wall for wall in sorted(require) if not self.isolation.walls.get(wall, False)]
        if missing:
            raise UserError(
                f"this host cannot raise the required walls {', '.join(missing)}",
                hint=" ".join(_hints.HINTS[wall] for wall in missing),
            )

    async def close(self) -> None:
        """End every world; returns when nothing of them is left."""
        self._connection.close()
        watch = os.pidfd_open(self._process.pid)
        try:
            await anyio.wait_readable(watch)
        finally:
            os.close(watch)
            self._process.wait()
            os.close(self._log)

    # --- executing ---------------------------------------------------------------------------

    async def execute(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> Execution:
        """Run a program in a fresh world; see `Pool.execute`."""
        return await self.execute_with(program, limits, {})

    async def execute_with(
        self, program: Program, limits: Limits, options: Mapping[str, object]
    ) -> Execution:
        """Run a program, in a session's world when ``options`` name one."""
        check_program(program, limits)
        header, blobs = await self.ask(
            lambda identity: _request(identity, program, limits, options)
        )
        return self._execution(header, blobs)

    async def start_service(
        self, program: Program, limits: Limits, options: Mapping[str, object]
    ) -> int:
        """Start a program that goes on in a session's world; return its number there."""
        check_program(program, limits)
        header, _ = await self.ask(lambda identity: _request(identity, program, limits, options))
        return int(header.get("pid", 0))

    async def tell(self, header: Header) -> None:
        """Send a message that nothing answers."""
        await self._send(frame(header))

    async def ask(self, request: Callable[[int], bytes]) -> tuple[Header, list[bytes]]:
        """Send a request and wait for its answer; raises `SandboxError` when there is none."""
        identity = self._next = self._next + 1
        waiting = self._waiting[identity] = _Waiting()
        try:
            await self._send(request(identity))
            await waiting.done.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._send(frame({"op": "cancel", "id": identity}))
            raise
        finally:
            del self._waiting[identity]
        if waiting.header is None:
            raise SandboxError(f"the sandbox broke: {self._broken}")
        if waiting.header["event"] == "fault":
            raise SandboxError(f"the world could not be made: {waiting.header['problem']}")
        return waiting.header, waiting.blobs

    @asynccontextmanager
    async def open(self, limits: Limits = DEFAULT_LIMITS) -> AsyncIterator[Session]:
        """Open a world that keeps its files and services; see `SessionPool.open`."""
        header, _ = await self.ask(lambda identity: frame({"op": "open", "id": identity}))
        session = Session(self, header["session"], limits)
        try:
            yield session
        finally:
            with anyio.CancelScope(shield=True), contextlib.suppress(SandboxError):
                await self.tell({"op": "close", "session": header["session"]})

    def _execution(self, header: Header, blobs: list[bytes]) -> Execution:
        return Execution(
            status=ExecutionStatus(header["status"]),
            exit_code=header["exit_code"],
            signal=header["signal"],
            cpu_s=header["cpu_s"],
            wall_s=header["wall_s"],
            peak_memory_kib=header["peak_memory_kib"],
            stdout=blobs[0],
            stderr=blobs[1],
            stdout_truncated=header["truncated"][0],
            stderr_truncated=header["truncated"][1],
            files=dict(zip(header["files"], blobs[2:], strict=True)),
            contention=Contention(run_delay_s=header["run_delay_s"], load_1m=header["load_1m"]),
            isolation=self.isolation,
            note=header["note"],
            events=tuple(
                SecurityEvent(kind=SecurityEventKind(kind), detail=detail)
                for kind, detail in header["events"]
            ),
        )

    async def listen(self) -> None:
        """Hand replies to those who wait, until the connection ends."""
        while not self._broken:
            try:
                data = await self._receive()
            except SandboxError as error:
                self._break(str(error))
                return
            for header, blobs in self._reader.feed(data):
                if header["event"] == "broken":
                    self._break(header["problem"])
                elif header["id"] in self._waiting:
                    waiting = self._waiting[header["id"]]
                    waiting.header, waiting.blobs = header, blobs
                    waiting.done.set()

    def _break(self, problem: str) -> None:
        self._broken = problem
        for waiting in self._waiting.values():
            waiting.done.set()

    # --- bytes -------------------------------------------------------------------------------

    async def _send(self, data: bytes) -> None:
        if self._broken:
            raise SandboxError(f"the sandbox broke: {self._broken}")
        # half a frame would make nonsense of all later ones; the launcher always reads on
        with anyio.CancelScope(shield=True):
            async with self._lock:
                view = memoryview(data)
                while view:
                    try:
                        view = view[self._connection.send(view) :]
                    except BlockingIOError:
                        await anyio.wait_writable(self._connection)
                    except ConnectionError as error:
                        raise SandboxError(f"the launcher is gone: {self._last_words()}") from error

    async def _receive(self) -> bytes:
        while True:
            await anyio.wait_readable(self._connection)
            try:
                data = self._connection.recv(1 << 20)
            except BlockingIOError:
                continue
            except ConnectionError:
                data = b""
            if not data:
                raise SandboxError(f"the launcher is gone: {self._last_words()}")
            return data

    def _last_words(self) -> str:
        size = os.fstat(self._log).st_size
        text = os.pread(self._log, 4000, max(0, size - 4000)).decode("utf-8", "replace")
        return text.strip() or "it said nothing"


def _request(
    identity: int, program: Program, limits: Limits, options: Mapping[str, object]
) -> bytes:
    header: dict[str, Any] = {
        "op": "execute",
        "id": identity,
        "kind": "run",
        "session": None,
        "log": "",
        "argv": list(program.argv),
        "build": list(program.build),
        "env": dict(program.env),
        "files": list(program.files),
        "fetch": list(program.fetch),
        "loopback": program.loopback,
        "limits": {name: getattr(limits, name) for name in Limits.__struct_fields__},
        **options,
    }
    return frame(header, [program.stdin, *program.files.values()])


def _notes(walls: dict[str, bool]) -> tuple[str, ...]:
    return tuple(_hints.STAND_INS[name] for name in _hints.STAND_INS if not walls[name])


def _cold(threads: int) -> tuple[str, ...]:
    if threads == 1:
        return ()
    return (f"zygote: preloading left {threads} threads, so every program starts cold",)


async def start_launcher(
    *,
    slots: int | None,
    preload: tuple[str, ...] = (),
    freshness: Freshness = Freshness.FRESH,
    off: Collection[str] = (),
    root: Root = HOST_ROOT,
) -> NativePool:
    """Execute a launcher and wait until its worlds are ready.

    ``off`` names walls to leave out; it is there so that tests of the walls can fail.
    """
    if sys.platform != "linux":
        raise UserError("the native sandbox needs Linux", hint="run on Linux, or in a Linux VM")
    if not root.host:
        raise UserError(
            f"image {root.digest}: a root of its own cannot be mounted by the native sandbox",
            hint="build the image on the base `host`",
        )
    layers = bind_points(root.layers)
    ours, theirs = socket.socketpair()
    log = os.memfd_create("launcher", os.MFD_CLOEXEC)
    process = subprocess.Popen(  # noqa: ASYNC220  a vfork and an exec: about a millisecond
        [sys.executable, "-I", "-S", "-c", _BOOT, str(theirs.fileno()), str(_PACKAGE.parent)],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={"LANG": "C.UTF-8"},
        cwd="/",
    )
    theirs.close()
    ours.setblocking(False)
    pool = NativePool(process, ours, log, freshness, root)
    try:
        await pool.connect(
            {
                "interpreter": [sys.executable, sys.prefix, sys.base_prefix],
                "hidden": [str(_PACKAGE)],
                "layers": [list(pair) for pair in layers],
                "env": dict(root.env),
                "slots": slots or os.cpu_count() or 1,
                "preload": list(preload),
                "pooled": freshness is Freshness.POOLED,
                "off": sorted(off),
            }
        )
    except BaseException:
        with anyio.CancelScope(shield=True):
            await pool.close()
        raise
    return pool
