"""Count what a pool holds on this host: processes, descriptors, mounts, control groups, memory.

Everything is read from ``/proc`` and ``/sys``, so that nothing here relies on what the sandbox says
about itself. Processes that end while they are looked at are left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

import anyio

__all__ = [
    "below",
    "charge",
    "children",
    "descriptors",
    "groups",
    "mount_spaces",
    "mounts",
    "resident_kib",
    "settled",
    "trees",
    "unique_kib",
]


def _parents() -> dict[int, int]:
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            state, parent = text.rpartition(")")[2].split()[:2]
            if state != "Z":  # nothing is left of it but its exit code, for its parent to read
                parents[int(entry.name)] = int(parent)
    return parents


def below(root: int) -> set[int]:
    """List the descendants of a process."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    pending = [root]
    while pending:
        more = children.get(pending.pop(), [])
        found.update(more)
        pending += more
    return found


def children(root: int) -> list[int]:
    """List the processes whose parent is ``root``; of a caller with one pool, the launcher."""
    return [pid for pid, parent in _parents().items() if parent == root]


def trees(pids: set[int]) -> list[set[int]]:
    """Part processes into trees: each is one whose parent is not among them, and its children."""
    parents = _parents()
    roots: dict[int, set[int]] = {}
    for pid in pids & parents.keys():
        root = pid
        while parents.get(root) in pids:
            root = parents[root]
        roots.setdefault(root, {root}).add(pid)
    return list(roots.values())


def unique_kib(pids: Iterable[int]) -> int:
    """Sum the memory that is nobody else's (USS): private pages of each process."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith(("Private_Clean:", "Private_Dirty:", "Private_Hugetlb:")):
                total += int(line.split()[1])
    return total


def resident_kib(pid: int) -> int:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def descriptors(pid: int | str) -> int:
    """Count the open descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208  the count alone


def mounts(pid: int | str = "self") -> int:
    """Count the mounts that a process sees."""
    return Path(f"/proc/{pid}/mountinfo").read_text().count("\n")


def mount_spaces() -> int:
    """Count the mount namespaces in which a process lives."""
    found = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                found.add(os.readlink(f"{entry.path}/ns/mnt"))  # noqa: PTH115  no Path needed
            except OSError:
                continue
    return len(found)


def groups(launcher: int) -> list[Path]:
    """List the control groups of a launcher, in all hierarchies."""
    found: list[Path] = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup"):
            found += Path(before.split()[4]).rglob(f"quintain-{launcher}-*")
    return found


def charge(launcher: int) -> list[int]:
    """Return the bytes that each memory group of a launcher is charged with; none, no groups."""
    names = ("memory.usage_in_bytes", "memory.current")
    files = (path / name for path in groups(launcher) for name in names)
    return [int(file.read_text()) for file in files if file.exists()]


async def settled(root: int, wanted: int, patience_s: float) -> float | None:
    """Wait until a process has no more than ``wanted`` descendants; return how long, or None."""
    started = time.monotonic()
    while time.monotonic() - started < patience_s:
        if len(below(root)) <= wanted:
            return time.monotonic() - started
        await anyio.sleep(0.02)
    return None
