"""The first process of the guest of `cgroup_v2_guest`: probe the walls, run the attacks, power off.

It is started by the kernel from an initial file system and speaks on the serial console alone. It
is no script of its own.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
import traceback
from pathlib import Path

TYPE_CHECKING = False  # nothing but the standard library is there before the root stands
if TYPE_CHECKING:
    from quintain.testing._attacks import Attack

MARK = "@@quintain@@"
_MS_BIND, _MS_MOVE = 0x1000, 0x2000
_POWER_OFF = 0x4321FEDC
_SLOWER = 15
"""An emulated processor is that much slower: clocks must not end what another wall is to end."""
_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: str, kind: str | None, flags: int = 0) -> None:
    Path(target).mkdir(parents=True, exist_ok=True)
    words = (source.encode(), target.encode(), kind.encode() if kind else None)
    if _libc.mount(*words, ctypes.c_ulong(flags), None) < 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def _stand() -> None:
    """Make of the initial file system a root that worlds can be made from."""
    _mount("/", "/new", None, _MS_BIND)  # a root that has a parent can be left; the first has none
    os.chdir("/new")
    _mount(".", "/", None, _MS_MOVE)
    os.chroot(".")
    os.chdir("/")
    _mount("proc", "/proc", "proc")
    _mount("sysfs", "/sys", "sysfs")
    _mount("dev", "/dev", "devtmpfs")
    Path("/tmp").chmod(0o1777)  # noqa: S108  the guest's own; what it needs may lie below
    _mount("cgroup", "/sys/fs/cgroup", "cgroup2")
    with socket.socket() as lo:
        fcntl.ioctl(lo, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # up and running


def _find() -> object:
    """Try every wall, then every attack; return what came of them."""
    import anyio

    from quintain.sandbox import open_pool, probe
    from quintain.testing._attacks import ATTACKS, complaint
    from quintain.testing._battery import baits, run_attacks

    async def attacks() -> dict[str, str]:
        with baits() as bait:
            async with open_pool(slots=1) as pool:
                found = await run_attacks(pool, map(_patient, ATTACKS), bait)
        return {
            attack.name: complaint(attack, found[attack.name].executions, as_root=True)
            or ("processes are left" if found[attack.name].left else "")
            for attack in ATTACKS
        }

    return {
        "kernel": os.uname().release,
        "walls": {report.wall: report.stands for report in probe()},
        "evidence": {report.wall: report.evidence for report in probe()},
        "attacks": anyio.run(attacks),
        "hierarchies": Path("/proc/self/cgroup").read_text(),
        "controllers": Path("/sys/fs/cgroup/cgroup.subtree_control").read_text(),
    }


def _patient(attack: Attack) -> Attack:
    """Give an attack the time that it needs here."""
    import msgspec

    clocks = {"cpu_s": attack.limits.cpu_s * _SLOWER, "wall_s": attack.limits.wall_s * _SLOWER}
    return attack._replace(limits=msgspec.structs.replace(attack.limits, **clocks))


def main() -> None:
    """Do it all; whatever happens the guest ends."""
    try:
        _stand()
        os.environ["PATH"] = "/usr/local/bin:/usr/bin:/bin"
        import msgspec

        sys.stdout.write(f"\n{MARK}{msgspec.json.encode(_find()).decode()}{MARK}\n")
    except BaseException:  # noqa: BLE001  there is nobody else to tell
        sys.stdout.write(traceback.format_exc())
    sys.stdout.flush()
    os.sync()
    _libc.reboot(ctypes.c_int(_POWER_OFF))


if __name__ == "__main__":
    main()
