"""A thousand sessions open at once are small, all answer, and all go.

Each session runs a command and writes a file, then is read back while all are open. Memory is what
is unique to the session's processes (USS, from ``smaps_rollup``); what its control group is charged
with, files and page tables included, stands beside it. Takes about a minute on two cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from statistics import median

import anyio

from _report import Seen, at_most, equal, main
from _watch import below, charge, children, groups, mount_spaces, mounts, trees, unique_kib
from quintain.sandbox import Program, SessionPool, open_pool

_AT_ONCE = 8
"""Commands at a time: the clocks of a thousand at once would tell about the cores alone."""
_GONE_WITHIN_S = 5.0


class _Sessions:
    """What the sessions of this check share."""

    def __init__(self, pool: SessionPool, count: int) -> None:
        self.pool, self.count = pool, count
        self.busy = anyio.CapacityLimiter(_AT_ONCE)
        self.ready, self.answered = 0, 0
        self.all_ready, self.ask, self.all_answered, self.leave = (anyio.Event() for _ in range(4))

    async def live(self, index: int) -> None:
        """Live one session, in step with the others."""
        async with self.pool.open() as session:
            async with self.busy:
                done = await session.run(Program(argv=("sh", "-c", f"echo {index} > own")))
                await session.write("given", b"x" * index)
            self.ready += done.exit_code == 0
            if self.ready == self.count:
                self.all_ready.set()
            await self.ask.wait()
            async with self.busy:
                said = await session.run(Program(argv=("cat", "own", "given")))
            self.answered += said.stdout == f"{index}\n".encode() + b"x" * index
            if self.answered == self.count:
                self.all_answered.set()
            await self.leave.wait()


def _raise_descriptors() -> None:
    """Allow this process, and the launcher that it starts, all descriptors it may have."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _measure(count: int) -> Seen:
    async with open_pool(slots=1) as pool:
        await pool.execute(Program(argv=("true",)))
        await anyio.sleep(0.5)  # until the next world is in stock
        before, own = below(os.getpid()), (mounts(), mount_spaces())
        (launcher,) = children(os.getpid())
        before_groups = len(groups(launcher))
        started = time.monotonic()
        async with anyio.create_task_group() as group:
            sessions = _Sessions(pool, count)
            for index in range(count):
                group.start_soon(sessions.live, index)
            with anyio.move_on_after(300):
                await sessions.all_ready.wait()
            opened_s = time.monotonic() - started
            used = [unique_kib(tree) for tree in trees(below(os.getpid()) - before)]
            charged = charge(launcher)
            sessions.ask.set()
            with anyio.move_on_after(300):
                await sessions.all_answered.wait()
            processes = len(below(os.getpid()) - before)
            sessions.leave.set()
            started = time.monotonic()
        gone_s = await _gone(launcher, len(before), before_groups, own)
        alive = await pool.execute(Program(argv=("true",)))
    return Seen(
        bounds=(
            equal("sessions measured", len(used), count),
            at_most("largest unique memory of a session, MiB", max(used) / 1024, 4),
            equal("sessions that answered while all were open", sessions.answered, count),
            at_most("processes, mounts and groups gone, s after the last close", gone_s, 5),
            equal("exit code of the pool's next program", alive.exit_code or 0, 0),
        ),
        figures={
            "median unique memory of a session": f"{median(used) / 1024:.2f} MiB",
            "control group charge, median and largest": _charges(charged),
            "processes": str(processes),
            "all open and ready after": f"{opened_s:.1f} s",
        },
    )


def _charges(charged: list[int]) -> str:
    if not charged:
        return "no memory control group here"
    return f"{median(charged) / (1 << 20):.2f} MiB, {max(charged) / (1 << 20):.2f} MiB"


async def _gone(launcher: int, processes: int, group_count: int, own: tuple[int, int]) -> float:
    """Return the seconds until nothing of the sessions is left; endless if it stays."""
    started = time.monotonic()
    while time.monotonic() - started < 6 * _GONE_WITHIN_S:
        if (
            len(below(os.getpid())) <= processes
            and len(groups(launcher)) <= group_count
            and (mounts(), mount_spaces()) <= own
        ):
            return time.monotonic() - started
        await anyio.sleep(0.05)
    return float("inf")


def _check(arguments: argparse.Namespace) -> Seen:
    _raise_descriptors()
    return anyio.run(_measure, arguments.sessions)


if __name__ == "__main__":
    main(__file__, __doc__, _check, [("sessions", 1000, "sessions open at once")])
