"""What a run uses, read from ``/proc``: for hosts whose control groups are not writable.

Sampled, so a burst between two samples is seen late or never: rlimits stand behind it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["tree_usage"]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def tree_usage(init_fd: int) -> tuple[float, int]:
    """Return processor seconds and resident bytes of all processes of a run.

    ``init_fd`` is the pidfd of the run's init; the program hangs beside it below the zygote.
    """
    init = _pid(init_fd)
    parent = _stat(init)[1] if init > 0 else 0
    if parent <= 1:
        return 0.0, 0
    cpu, resident, pending = 0.0, 0, _children(parent)
    while pending:
        pid = pending.pop()
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = _stat(pid)
            # a shared image is resident in every fork of it; only what is not shared counts
            pages = Path(f"/proc/{pid}/statm").read_text().split()
            if pid != init:
                cpu += sum(fields[11:15]) / _TICKS
                resident += (int(pages[1]) - int(pages[2])) * _PAGE
            pending += _children(pid)
    return cpu, resident


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
