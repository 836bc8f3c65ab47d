"""What a slot zygote and its worlds tell the launcher; runs inside the template, stdlib only.

Written to touch little: after a fork every page that is written, be it for a reference count,
is copied, and that is most of what a world costs.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import socket
import struct
from typing import Any

__all__ = ["await_end", "offer", "receive", "tell"]

_PAIR = struct.Struct("=2i")


def tell(control: socket.socket, report: dict[str, Any]) -> None:
    """Send one report to the launcher."""
    control.send(marshal.dumps(report))


def offer(control: socket.socket, handle: int, box: int, pid: int = 0) -> None:
    """Tell the launcher that a world is in stock: how to kill it, where its files are."""
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=box)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, _PAIR.pack(handle, directory))
    control.sendmsg([marshal.dumps({"event": "ready", "pid": pid})], [rights])
    os.close(directory)


def receive(jobs: socket.socket) -> tuple[int, ...]:
    """Wait for a job and return its descriptors; none when the launcher is gone."""
    _, rights, _, _ = jobs.recvmsg(16, socket.CMSG_SPACE(5 * 4), socket.MSG_CMSG_CLOEXEC)
    return struct.unpack(f"={len(rights[0][2]) // 4}i", rights[0][2]) if rights else ()


def await_end(child: int) -> dict[str, Any]:
    """Wait for a child's end and describe it."""
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    ran = delay = b"0"
    with contextlib.suppress(OSError):
        fd = os.open(f"/proc/{child}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        ran, delay = os.read(fd, 128).split()[:2]
        os.close(fd)
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
