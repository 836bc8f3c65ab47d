"""What a slot zygote tells the launcher; runs inside the template, stdlib only."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any

__all__ = ["await_end", "offer"]


def offer(control: socket.socket, handle: int, box: int, pid: int = 0) -> None:
    """Tell the launcher that a world is in stock: how to kill it, where its files are."""
    directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=box)
    text = json.dumps({"event": "ready", "pid": pid}).encode()
    socket.send_fds(control, [text], [handle, directory])
    os.close(directory)


def await_end(child: int) -> dict[str, Any]:
    """Wait for a child's end and describe it."""
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    ran, delay = 0, 0
    with contextlib.suppress(OSError), open(f"/proc/{child}/schedstat") as file:  # noqa: PTH123
        ran, delay = map(int, file.read().split()[:2])
    _, status, usage = os.wait4(child, 0)
    return {
        "event": "exit",
        "pid": child,
        "status": status,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "maxrss_kib": usage.ru_maxrss,
        "leader_cpu_s": ran / 1e9,
        "run_delay_s": delay / 1e9,
    }
