"""What an attack is, and when it was held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quintain.sandbox import Execution, ExecutionStatus, Program, python_program
from quintain.types import Limits

__all__ = ["Attack", "attack", "complaint"]

LIMITS = Limits(
    cpu_s=1.0,
    wall_s=8.0,
    memory_mib=128,
    processes=32,
    disk_mib=8,
    inodes=512,
    open_files=64,
    output_kib=64,
)

_PRELUDE = """\
import ctypes, os, sys
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
def call(number, *args):
    "Make a raw system call; a negative result is the error."
    result = _libc.syscall(ctypes.c_long(number), *args)
    return result if result >= 0 else -ctypes.get_errno()
def refused(action, *args):
    "Whether the action raises OSError."
    try:
        action(*args)
    except OSError:
        return True
    return False
def held(**walls):
    broken = [name for name, stood in walls.items() if not stood]
    print("ESCAPED " + " ".join(broken) if broken else "held", flush=True)
"""


class Attack(NamedTuple):
    """One line of the table."""

    number: float
    name: str
    programs: tuple[Program, ...]
    """Run one after the other in one slot; the last one's end decides."""
    root: frozenset[ExecutionStatus]
    ordinary: frozenset[ExecutionStatus]
    limits: Limits
    says: bytes
    """What the last program's stdout must hold when its status is ok."""
    refused: tuple[str, ...]
    """Outputs that must be asked for and not come back."""


def attack(
    number: float,
    name: str,
    *programs: str | Program,
    ends: str = "ok",
    ordinary: str = "",
    says: bytes = b"held",
    refused: tuple[str, ...] = (),
    limits: Mapping[str, float] | None = None,
) -> Attack:
    """Write an attack down; ``ends`` and ``ordinary`` are statuses separated by spaces."""
    made = tuple(
        program
        if isinstance(program, Program)
        else python_program(_PRELUDE + program, fetch=refused)
        for program in programs
    )
    values = {field: getattr(LIMITS, field) for field in Limits.__struct_fields__}
    return Attack(
        number=number,
        name=name,
        programs=made,
        root=frozenset(map(ExecutionStatus, ends.split())),
        ordinary=frozenset(map(ExecutionStatus, (ordinary or ends).split())),
        limits=Limits(**{**values, **(limits or {})}),
        says=says,
        refused=refused,
    )


def complaint(tried: Attack, done: Sequence[Execution], *, as_root: bool) -> str:
    """Say what is wrong with how an attack ended; empty when the walls held."""
    for execution in done:
        if b"ESCAPED" in execution.stdout:
            return execution.stdout.decode("utf-8", "replace").strip()
    last = done[-1]
    expected = tried.root if as_root else tried.ordinary
    tail = f"{last.stdout[-300:]!r} {last.stderr[-600:].decode('utf-8', 'replace')}"
    if last.status not in expected:
        return f"ended with {last.status}, not {' or '.join(sorted(expected))}: {tail}"
    if last.status is ExecutionStatus.OK and tried.says not in last.stdout:
        return f"did not say {tried.says!r}: {tail}"
    back = [name for name in tried.refused if name in last.files]
    return f"came back: {', '.join(back)}" if back else ""
