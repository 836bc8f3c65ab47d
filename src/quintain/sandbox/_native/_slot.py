"""What a slot zygote and its worlds tell the launcher; runs inside the template, stdlib only.

Written to touch little: after a fork every page that is written, be it for a reference count,
is copied, and that is most of what a world costs.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps; no stubs
import _socket
import marshal
import os
import struct

TYPE_CHECKING = False  # `typing` stays out of the zygote
if TYPE_CHECKING:
    from typing import Any

__all__ = ["await_end", "discard", "kill", "offer", "receive", "tell"]

_PAIR = struct.Struct("=2i")


def tell(control: _socket.socket, report: dict[str, Any]) -> None:
    """Send one report to the launcher."""
    control.send(marshal.dumps(report))


def offer(control: _socket.socket, handle: int, box: int, pid: int = 0) -> None:
    """Tell the launcher that a world is in stock: how to kill it, where its files are."""
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=box)
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _PAIR.pack(handle, directory))
    control.sendmsg([marshal.dumps({"event": "ready", "pid": pid})], [rights])
    os.close(directory)


def receive(connection: _socket.socket, flags: int = 0) -> tuple[bytes, tuple[int, ...]]:
    """Wait for a message with descriptors; an empty one when the launcher is gone."""
    space, flags = _socket.CMSG_SPACE(8 * 4), flags | _socket.MSG_CMSG_CLOEXEC
    message, rights, _, _ = connection.recvmsg(4096, space, flags)
    fds = struct.unpack(f"={len(rights[0][2]) // 4}i", rights[0][2]) if rights else ()
    return message, fds


def discard(jobs: _socket.socket) -> None:
    """Throw away a job whose world was killed before it took it: the next would run it."""
    try:
        while fds := receive(jobs, _socket.MSG_DONTWAIT)[1]:
            for fd in fds:
                os.close(fd)
    except BlockingIOError:
        return


def kill(target: int) -> None:
    """Kill a process or, negative, a group; one that is gone was killed by somebody else."""
    try:  # noqa: SIM105  contextlib stays out of the zygote
        os.kill(target, _signal.SIGKILL)
    except ProcessLookupError:
        pass


def await_end(child: int) -> dict[str, Any]:
    """Wait for a child's end and describe it."""
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    ran = delay = b"0"
    try:
        fd = os.open(f"/proc/{child}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        ran, delay = os.read(fd, 128).split()[:2]
        os.close(fd)
    except OSError:
        pass  # a kernel without scheduler statistics
    _, status, usage = os.wait4(child, 0)
    return {
        "event": "exit",
        "pid": child,
        "status": status,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "maxrss_kib": usage.ru_maxrss,
        "leader_cpu_s": int(ran) / 1e9,
        "run_delay_s": int(delay) / 1e9,
    }
