"""Nothing is left: not after a run, not after a pool, not after a caller killed with -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from quintain.errors import SandboxError
from quintain.sandbox import ExecutionStatus, Program, open_pool, python_program
from quintain.sandbox._client import NativePool
from quintain.types import Limits

_SLEEPER = """
import anyio
from quintain.sandbox import open_pool, python_program
from quintain.types import Limits
async def main():
    async with open_pool(slots=2) as pool:
        print(pool.launcher_pid, flush=True)
        await pool.execute(python_program("import time; time.sleep(60)"), Limits(wall_s=90))
anyio.run(main)
"""


def _below(root: int) -> set[int]:
    """List a process's descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
    found = {root}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {root}
        found |= more


def _groups(launcher: int) -> list[Path]:
    found: list[Path] = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup"):
            found += Path(before.split()[4]).rglob(f"quintain-{launcher}-*")
    return found


def _count(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


def _within_seconds(condition: Callable[[], bool]) -> bool:
    for _ in range(250):
        if condition():
            return True
        time.sleep(0.02)
    return False


def _alive(pids: set[int]) -> set[int]:
    """Which of the processes still run; a zombie that its parent has not read does not."""
    alive = set()
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                alive.add(pid)
        except OSError:
            continue
    return alive


def test_a_caller_killed_with_9_takes_everything_with_it() -> None:
    with subprocess.Popen([sys.executable, "-c", _SLEEPER], stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        launcher = int(caller.stdout.readline())
        assert _within_seconds(lambda: len(_below(launcher)) >= 6)
        everybody = {launcher, *_below(launcher)}
        caller.kill()
        assert _within_seconds(lambda: not _alive(everybody))
        assert _groups(launcher) == []


def _pool_of(pool: object) -> NativePool:
    assert isinstance(pool, NativePool)
    return pool


def test_closing_a_pool_leaves_no_process_and_no_group() -> None:
    async def run() -> tuple[int, set[int]]:
        async with open_pool(slots=2) as pool:
            launcher = _pool_of(pool).launcher_pid
            with anyio.move_on_after(0.3):
                await pool.execute(python_program("import time; time.sleep(60)"))
            return launcher, {launcher, *_below(launcher)}

    launcher, everybody = anyio.run(run)
    assert not _alive(everybody)
    assert _groups(launcher) == []


def test_a_launcher_killed_with_9_is_a_sandbox_error_and_its_leftovers_are_swept() -> None:
    async def run() -> tuple[int, set[int]]:
        async with open_pool(slots=1) as pool:
            launcher = _pool_of(pool).launcher_pid
            everybody = {launcher, *_below(launcher)}

            async def kill() -> None:
                await anyio.sleep(0.3)
                os.kill(launcher, signal.SIGKILL)

            async with anyio.create_task_group() as group:
                group.start_soon(kill)
                with pytest.raises(SandboxError):
                    await pool.execute(python_program("import time; time.sleep(60)"))
            with pytest.raises(SandboxError):
                await pool.execute(Program(argv=("true",)))
            return launcher, everybody

    launcher, everybody = anyio.run(run)
    assert _within_seconds(lambda: not _alive(everybody))

    async def another() -> None:
        async with open_pool(slots=1):
            pass

    anyio.run(another)
    assert _groups(launcher) == []


def test_descriptors_processes_and_groups_stay_flat() -> None:
    async def run() -> None:
        async with open_pool(slots=2) as pool:
            launcher = _pool_of(pool).launcher_pid
            program = Program(argv=("sh", "-c", "cat; echo x > f"), stdin=b"x", fetch=("f",))

            async def counts() -> tuple[int, int, int, int]:
                await anyio.sleep(0.3)
                return (
                    _count("/proc/self/fd"),
                    _count(f"/proc/{launcher}/fd"),
                    len(_below(launcher)),
                    len(_groups(launcher)),
                )

            await pool.execute(program)
            before = await counts()
            async with anyio.create_task_group() as group:

                async def many() -> None:
                    for _ in range(60):
                        assert (await pool.execute(program)).files == {"f": b"x\n"}

                for _ in range(3):
                    group.start_soon(many)
            assert await counts() == before

    anyio.run(run)


def test_honest_programs_are_unchanged_beside_hostile_ones() -> None:
    hostile = (
        "import os\nwhile True: os.fork()",
        "x = [b'x' * (1 << 20) for _ in range(4000)]",
        "import os\nwhile True: os.write(1, b'x' * 65536)",
        "while True: pass",
        "import os, signal; os.kill(-1, signal.SIGKILL)",
        "import os; os.abort()",
    )
    tight = Limits(cpu_s=0.3, wall_s=20, memory_mib=96, processes=16)
    generous = Limits(cpu_s=10, wall_s=60)
    results: dict[int, bytes] = {}

    async def run() -> None:
        async with open_pool(slots=3) as pool, anyio.create_task_group() as group:

            async def honest(index: int) -> None:
                source = f"print(sum(i * i for i in range(20000 + {index})))"
                done = await pool.execute(python_program(source), generous)
                assert done.status is ExecutionStatus.OK, done
                results[index] = done.stdout

            async def attacker(source: str) -> None:
                await pool.execute(python_program(source), tight)

            for index in range(30):
                group.start_soon(honest, index)
                if index % 3 == 0:
                    group.start_soon(attacker, hostile[index // 3 % len(hostile)])

    anyio.run(run)
    assert results == {
        index: f"{sum(i * i for i in range(20000 + index))}\n".encode() for index in range(30)
    }
