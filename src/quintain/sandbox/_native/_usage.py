"""What a run uses, read from ``/proc``: for hosts whose control groups are not writable.

Sampled, so a burst between two samples is seen late or never: rlimits stand behind it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["tree_usage"]

_TICKS = os.sysconf("SC_CLK_TCK")


def tree_usage(handle: int, enough: int) -> tuple[float, int]:
    """Return processor seconds and bytes held by all processes of a run.

    ``handle`` is the pidfd of a child of the run's slot zygote; all others hang below that too.
    Up to ``enough`` bytes, memory counts once for each process that maps it, which is quick and
    too much; beyond it, shared memory is shared out among those who map it.
    """
    pid, zygote = _pid(handle), 0
    with contextlib.suppress(OSError):
        zygote = _stat(pid)[1]
    if zygote <= 1:
        return 0.0, 0  # it has just ended
    cpu, held, seen, pending = 0.0, 0, list[int](), _children(zygote)
    while pending:
        pid = pending.pop()
        with contextlib.suppress(OSError, IndexError, ValueError):
            cpu += sum(_stat(pid)[11:15]) / _TICKS
            held += _held(pid, "status", "Rss")
            seen.append(pid)
            pending += _children(pid)
    if held > enough:
        held = 0
        for pid in seen:
            with contextlib.suppress(OSError):
                held += _held(pid, "smaps_rollup", "Pss_")
    return cpu, held


def _held(pid: int, file: str, prefix: str) -> int:
    """Return the bytes that a process holds beyond the files it maps."""
    wanted = (f"{prefix}Anon:", f"{prefix}Shmem:")
    text = Path(f"/proc/{pid}/{file}").read_text()
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith(wanted))


def _pid(pidfd: int) -> int:
    for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    return -1


def _stat(pid: int) -> list[int]:
    """Return the fields of ``/proc/PID/stat`` from the parent's pid on, the state as 0."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return [0, *map(int, text.rpartition(")")[2].split()[1:])]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            text = Path(f"/proc/{pid}/task/{task}/children").read_text()
            found += map(int, text.split())
    return found
