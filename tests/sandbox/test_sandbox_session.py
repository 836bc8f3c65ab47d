"""Sessions: a world that keeps its files and services from one command to the next."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

import anyio
import pytest

from quintain.errors import SandboxError, UserError
from quintain.sandbox import (
    ExecutionStatus,
    Program,
    Session,
    open_pool,
    python_program,
)
from quintain.types import Limits

_LIMITS = Limits(cpu_s=10, wall_s=60, memory_mib=256, disk_mib=16, output_kib=64)


def _shell(command: str) -> Program:
    return Program(argv=("sh", "-c", command))


def _in_session(body: Callable[[Session], Awaitable[None]], limits: Limits = _LIMITS) -> None:
    async def run() -> None:
        async with open_pool(slots=1) as pool, pool.open(limits) as session:
            await body(session)

    anyio.run(run)


def test_files_live_from_command_to_command() -> None:
    async def body(session: Session) -> None:
        await session.write("data/in.txt", b"one\n")
        done = await session.run(_shell("cat data/in.txt; echo two > out.txt; pwd"))
        assert done.stdout == b"one\n/work\n"
        assert await session.read("out.txt") == b"two\n"
        assert await session.list() == ("data/", "data/in.txt", "out.txt")
        assert (await session.run(python_program("print(open('out.txt').read())"))).exit_code == 0

    _in_session(body)


def test_what_cannot_be_read_or_written_says_so() -> None:
    async def body(session: Session) -> None:
        with pytest.raises(FileNotFoundError):
            await session.read("absent")
        await session.run(_shell("mkdir d; mkfifo p; yes | head -c 200000 > big"))
        for path in ("d", "p"):
            with pytest.raises(UserError):
                await session.read(path)
        with pytest.raises(UserError, match="KiB"):
            await session.read("big")
        with pytest.raises(UserError):
            await session.write("d", b"")
        with pytest.raises(UserError):
            await session.write("../x", b"")

    _in_session(body)


def test_a_link_out_of_the_world_leads_nowhere() -> None:
    async def body(session: Session) -> None:
        await session.run(_shell("ln -s /etc/shadow s; ln -s /root/.ssh r"))
        for path in ("s", "r"):
            with pytest.raises(FileNotFoundError):
                await session.read(path)

    _in_session(body)


def test_a_service_goes_on_while_commands_run_and_can_be_stopped() -> None:
    server = "import http.server as h\nh.test(h.SimpleHTTPRequestHandler, port=8000)"
    ask = (
        "import time, urllib.request\n"
        "for _ in range(600):\n"
        "    try:\n"
        "        print(urllib.request.urlopen('http://127.0.0.1:8000/x').read().decode()); break\n"
        "    except OSError: time.sleep(0.05)\n"
        "else: print('gone')\n"
    )

    def _looped(source: str) -> Program:
        made = python_program(source)
        return Program(argv=made.argv, files=made.files, loopback=True)

    async def body(session: Session) -> None:
        await session.write("x", b"served")
        await session.write("server.py", server.encode())
        service = await session.background(
            Program(argv=("python", "server.py"), loopback=True, env={"PYTHONUNBUFFERED": "1"})
        )
        assert (await session.run(_looped(ask))).stdout == b"served\n"
        assert (await session.run(_looped(ask))).stdout == b"served\n"
        assert b"GET /x" in await service.output()
        await service.stop()
        gone = ask.replace("range(600)", "range(3)")
        assert (await session.run(_looped(gone))).stdout == b"gone\n"

    _in_session(body)


def test_a_timeout_kills_grandchildren_and_spares_services() -> None:
    async def body(session: Session) -> None:
        await session.background(_shell("while true; do echo x >> alive; sleep 0.05; done"))
        hang = _shell(
            "(setsid sh -c 'while true; do echo y >> escaped; sleep 0.05; done' &) ; sleep 60"
        )
        done = await session.run(hang, Limits(wall_s=0.5))
        assert done.status is ExecutionStatus.WALL_LIMIT
        await session.run(_shell("true"))  # after the sweep
        escaped, alive = await session.read("escaped"), await session.read("alive")
        for _ in range(200):
            await anyio.sleep(0.05)
            if len(await session.read("alive")) > len(alive) + 8:  # four rounds of the service
                break
        else:
            pytest.fail("the service was killed too")
        assert await session.read("escaped") == escaped

    _in_session(body)


def test_limits_end_a_command_and_not_the_session() -> None:
    async def body(session: Session) -> None:
        spun = await session.run(python_program("while True: pass"), Limits(cpu_s=0.3))
        assert spun.status is ExecutionStatus.CPU_LIMIT
        flood = await session.run(_shell("yes"))
        assert flood.status is ExecutionStatus.OUTPUT_LIMIT
        assert (await session.run(_shell("echo still"))).stdout == b"still\n"

    _in_session(body)


def test_sessions_share_nothing() -> None:
    async def run() -> None:
        async with open_pool(slots=1) as pool:
            async with pool.open(_LIMITS) as one, pool.open(_LIMITS) as two:
                await one.write("x", b"1")
                assert await two.list() == ()
                assert (await pool.execute(_shell("ls"))).stdout == b""
                seen = await two.run(_shell("ls /proc | grep -c '^[0-9]'"))
                assert int(seen.stdout) <= 5
            with pytest.raises(SandboxError):
                await one.run(_shell("true"))

    anyio.run(run)


def test_killing_everything_in_the_world_leaves_the_session_alive() -> None:
    async def body(session: Session) -> None:
        await session.run(_shell("kill -9 -1"))
        await session.run(python_program("import os\nos.kill(1, 9)"))
        assert (await session.run(_shell("echo still"))).stdout == b"still\n"

    _in_session(body)


def test_a_command_can_see_and_end_what_an_earlier_one_left() -> None:
    async def body(session: Session) -> None:
        await session.run(_shell("sleep 4242 & echo $! > pid"))
        assert b"4242" in (await session.run(_shell("ps -ef"))).stdout
        assert (await session.run(_shell("kill $(cat pid)"))).exit_code == 0

    _in_session(body)


def test_fifty_sessions_are_open_at_once_and_all_answer() -> None:
    async def run() -> None:
        async with open_pool(slots=1) as pool, contextlib.AsyncExitStack() as stack:
            sessions = [await stack.enter_async_context(pool.open(_LIMITS)) for _ in range(50)]
            for index, session in enumerate(sessions):
                await session.write("index", str(index).encode())
            for index, session in enumerate(sessions):
                assert (await session.run(_shell("cat index"))).stdout == str(index).encode()

    anyio.run(run)
