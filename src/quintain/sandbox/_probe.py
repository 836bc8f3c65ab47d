"""Try every wall of this host with a hostile program, and say how to get those that are missing.

A wall counts as standing when the launcher says that it raised it *and* the program met it. A
wall that is claimed and not met is a fault of the sandbox: it is reported as missing.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path

import anyio
import msgspec

from quintain.errors import QuintainError
from quintain.sandbox._hints import HINTS, STAND_INS
from quintain.sandbox._pool import open_pool
from quintain.sandbox._session import SessionPool
from quintain.sandbox._types import Execution, Program, python_program
from quintain.sandbox._walls import ALL_WALLS, DEFAULT_WALLS
from quintain.types import Limits, Noun

__all__ = ["WallReport", "probe"]

_LIMITS = Limits(
    cpu_s=10, wall_s=30, memory_mib=96, processes=12, disk_mib=8, open_files=40, output_kib=64
)
_SOON_S = 0.3
"""Processor seconds of what is to meet that limit; a slow machine needs more for the rest."""

_LOOK = """\
import ctypes, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def refused(action, *args):
    try:
        action(*args)
    except OSError as error:
        return error.errno
    return 0
def connect(): socket.create_connection(("127.0.0.1", HOST["port"]), timeout=1)
def descriptors(): kept = [os.open("/dev/null", 0) for _ in range(100)]
def listen(): socket.create_server(("0.0.0.0", 8080))
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
own = {name: os.readlink(f"/proc/self/ns/{name}") for name in HOST["spaces"]}
apart = {name: own[name] != HOST["spaces"][name] for name in own}
met = {
    "user_namespace": apart["user"],
    "mount_namespace": apart["mnt"] and not os.path.exists(HOST["canary"]),
    "pid_namespace": apart["pid"] and refused(os.kill, HOST["pid"], 0) != 0,
    "ipc_namespace": apart["ipc"],
    "uts_namespace": apart["uts"],
    "net_namespace": apart["net"] and refused(connect) != 0,
    "read_only_root": refused(open, "/etc/x", "w") != 0 and refused(open, "/x", "w") != 0,
    "no_capabilities": set(status["CapEff"].strip() + status["CapBnd"].strip()) == {"0"},
    "no_new_privs": status["NoNewPrivs"].strip() == "1",
    "seccomp": libc.unshare(0x10000000) < 0 and status["Seccomp"].strip() == "2",
    "landlock": refused(listen) == 13,
    "rlimits": refused(descriptors) == 24,
    "own_uid": os.getuid() not in (0, HOST["uid"]),
}
print(json.dumps(met))
"""

_MEMORY = "kept = [b'x' * (1 << 20) for _ in range(400)]\n"
_FORKS = """\
import os, time
while True:
    if os.fork() == 0:
        time.sleep(60)
"""
_SPIN = "import os\nos.fork()\nwhile True: pass\n"
_COUNTED = {
    "cgroup_memory": (_MEMORY, "memory_limit"),
    "cgroup_pids": (_FORKS, "process_limit"),
    "cgroup_cpu": (_SPIN, "cpu_limit"),
}


class WallReport(Noun, frozen=True, kw_only=True):
    """Whether one wall stands on this host."""

    wall: str
    stands: bool
    required: bool
    """Whether a pool refuses to open without it, unless told otherwise."""
    evidence: str
    """What a hostile program met, or why it met nothing."""
    hint: str = ""
    """How to get the wall; empty when it stands."""


def probe() -> tuple[WallReport, ...]:
    """Run a hostile program at each wall, and report; takes about two seconds.

    Never raises for what the host lacks: that is what it reports.
    """
    try:
        return anyio.run(_probe)
    except QuintainError as error:
        return tuple(_missing(wall, error.message, error.hint) for wall in _LISTED)


_LISTED = tuple(wall for wall in ALL_WALLS if wall != "sampling")


async def _probe() -> tuple[WallReport, ...]:
    async with open_pool(slots=1, require=()) as pool:
        with tempfile.NamedTemporaryFile() as canary, socket.create_server(("127.0.0.1", 0)) as net:
            program = _hostile(canary.name, net.getsockname()[1])
            looked = await pool.execute(program, _LIMITS)
        met = _answers(looked)
        claimed = looked.isolation.walls
        reports = [_judge(wall, claimed[wall], met) for wall in _LISTED if wall in met]
        for wall, (source, status) in _COUNTED.items():
            reports.append(await _count(pool, wall, claimed[wall], source, status))
    return tuple(sorted(reports, key=lambda report: _LISTED.index(report.wall)))


def _hostile(canary: str, port: int) -> Program:
    names = ("user", "mnt", "pid", "ipc", "uts", "net")
    host = {
        "canary": canary,
        "port": port,
        "pid": os.getpid(),
        "uid": os.getuid(),
        "spaces": {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in names},
    }
    return python_program(f"HOST = {host!r}\n{_LOOK}")


def _answers(done: Execution) -> Mapping[str, bool]:
    try:
        return msgspec.json.decode(done.stdout, type=dict[str, bool])
    except msgspec.DecodeError:
        return dict.fromkeys((wall for wall in _LISTED if wall not in _COUNTED), False)


def _judge(wall: str, claimed: bool, met: Mapping[str, bool]) -> WallReport:
    if wall == "own_uid":
        met = {**met, wall: claimed}  # seen from inside, one's own id may look the same
    if claimed and met[wall]:
        return _standing(wall, "a hostile program met it")
    if claimed:
        return _missing(wall, "raised, but a hostile program went through it", "")
    return _missing(wall, STAND_INS.get(wall, "this host cannot raise it"), "")


async def _count(
    pool: SessionPool, wall: str, claimed: bool, source: str, status: str
) -> WallReport:
    if not claimed:
        return _missing(wall, STAND_INS[wall], "")
    cpu_s = _SOON_S if wall == "cgroup_cpu" else _LIMITS.cpu_s
    limits = msgspec.structs.replace(_LIMITS, cpu_s=cpu_s)
    done = await pool.execute(python_program(source), limits)
    if done.status == status:
        return _standing(wall, f"a hostile program ended with {done.status}")
    return _missing(wall, f"a hostile program ended with {done.status}, not {status}", "")


def _standing(wall: str, evidence: str) -> WallReport:
    return WallReport(wall=wall, stands=True, required=wall in DEFAULT_WALLS, evidence=evidence)


def _missing(wall: str, evidence: str, hint: str) -> WallReport:
    return WallReport(
        wall=wall,
        stands=False,
        required=wall in DEFAULT_WALLS,
        evidence=evidence,
        hint=hint or HINTS[wall],
    )
