"""Fifty thousand executions leave nothing behind and grow nothing.

Descriptors of the caller and the launcher, processes, mounts and control groups are counted once
the pool is warm and again at the end; resident memory is looked at between. Takes about four
minutes on two cores.
"""

from __future__ import annotations

import argparse
import os

import anyio

from _report import Seen, at_most, equal, main
from _watch import below, children, descriptors, groups, mount_spaces, mounts, resident_kib, settled
from quintain.sandbox import ExecutionStatus, Pool, open_pool, python_program

_PROGRAM = python_program(
    "import sys; open('f', 'w').write(sys.stdin.read()); print(6 * 7)", stdin=b"x", fetch=("f",)
)
_LOOKS = 10


class _Counts:
    """What must not grow."""

    def __init__(self, launcher: int) -> None:
        own = os.getpid()
        self.flat = {
            "descriptors of the caller": descriptors(own),
            "descriptors of the launcher": descriptors(launcher),
            "processes": len(below(own)),
            "mounts of the host": mounts(),
            "mounts of the launcher": mounts(launcher),
            "mount namespaces": mount_spaces(),
            "control groups": len(groups(launcher)),
        }
        self.resident = {"caller": resident_kib(own), "launcher": resident_kib(launcher)}


async def _run(pool: Pool, count: int, at_once: int) -> int:
    """Execute so many programs; return how many did not do what they should."""
    wrong, left = 0, count

    async def worker() -> None:
        nonlocal wrong, left
        while left > 0:
            left -= 1
            done = await pool.execute(_PROGRAM)
            right = done.status is ExecutionStatus.OK and done.stdout == b"42\n"
            wrong += not (right and done.files == {"f": b"x"})

    async with anyio.create_task_group() as group:
        for _ in range(at_once):
            group.start_soon(worker)
    return wrong


async def _measure(count: int) -> Seen:
    cores = len(os.sched_getaffinity(0))
    async with open_pool(slots=cores) as pool:
        wrong = await _run(pool, max(count // 50, 10), cores)
        (launcher,) = children(os.getpid())
        await anyio.sleep(1)  # until the next worlds are in stock
        before = _Counts(launcher)
        resident = []
        for _ in range(_LOOKS):
            wrong += await _run(pool, count // _LOOKS, cores)
            resident.append(_Counts(launcher).resident)
        await settled(os.getpid(), before.flat["processes"], 5)
        await anyio.sleep(1)
        after = _Counts(launcher)
    grown = {
        who: max(abs(look[who] / start - 1) for look in [*resident, after.resident])
        for who, start in before.resident.items()
    }
    flat = [equal(f"{what} at the end", after.flat[what], before.flat[what]) for what in after.flat]
    small = [
        at_most(f"resident memory of the {who}, change in %", 100 * by, 5)
        for who, by in grown.items()
    ]
    return Seen(
        bounds=(equal("executions that went wrong", wrong, 0), *flat, *small),
        figures={
            f"resident memory of the {who}, first and last": f"{start}, {after.resident[who]} KiB"
            for who, start in before.resident.items()
        },
    )


def _check(arguments: argparse.Namespace) -> Seen:
    return anyio.run(_measure, arguments.executions)


if __name__ == "__main__":
    main(__file__, __doc__, _check, [("executions", 50_000, "executions")])
