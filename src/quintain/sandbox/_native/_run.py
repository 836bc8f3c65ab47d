"""One run as the launcher sees it: its pipes, its clocks and its end."""

from __future__ import annotations

import fcntl
import marshal
import os
import signal
import struct
import time
from typing import Any

from quintain.sandbox._native import _sys, _usage
from quintain.sandbox._native._cgroup import SlotGroup
from quintain.sandbox._native._fetch import fetch
from quintain.sandbox._native._verdict import Observed, status
from quintain.sandbox._wire import Header

__all__ = ["Run"]

_CHUNK = 1 << 18
_SEALS = 0x0001 | 0x0002 | 0x0004 | 0x0008  # F_SEAL_SEAL, SHRINK, GROW, WRITE
_ZYGOTE_PROCESSES = 3
"""The slot zygote, the world's init and one to spare, which no program should pay for."""
_ZYGOTE_MEMORY = 16 << 20
_POLL_S = 0.02
_CORES = os.cpu_count() or 1


class Run:
    """A program that was handed to a world, until its end is reported."""

    def __init__(self, request: Header, blobs: list[bytes], sampled: bool) -> None:
        self._sampled = sampled
        self.id: int = request["id"]
        self.limits: dict[str, Any] = request["limits"]
        self.names: list[str] = request["fetch"]
        self.session: int | None = request["session"]
        """Index of the slot that it is for, when a session's."""
        self.killed = ""
        self.problem = ""
        self.outputs = {1: bytearray(), 2: bytearray()}
        self.truncated = {1: False, 2: False}
        self.pipes: dict[int, int] = {}
        """Read end to stream number."""
        self.built = -1
        """Where the world says that the build succeeded; nothing else of it is left by then."""
        self._stdin, self._contents = blobs[0], blobs[1:]
        self._job = {
            "op": request["kind"],
            "log": request["log"],
            "session": request["session"] is not None,
            # an interpreter reads its own variables when it starts
            "warm": not any(name.startswith("PYTHON") for name in request["env"]),
            "argv": request["argv"],
            "build": request["build"],
            "env": request["env"],
            "files": request["files"],
            "sizes": [len(content) for content in self._contents],
            "loopback": request["loopback"],
            "limits": self.limits,
        }

    def start_cold(self) -> None:
        """Execute an interpreter instead of going on in the zygote's."""
        self._job["warm"] = False

    # --- start -------------------------------------------------------------------------------

    def start(self, group: SlotGroup, init: int, box: int) -> list[int]:
        """Open pipes and clocks; return the descriptors of the job, which the caller closes."""
        self.group, self.init, self.box = group, init, box
        memory = (self.limits["memory_mib"] << 20) + _ZYGOTE_MEMORY
        group.begin(memory, self.limits["processes"] + _ZYGOTE_PROCESSES)
        text = marshal.dumps(self._job)
        job = _sys.memfd("job", struct.pack("=I", len(text)) + text + b"".join(self._contents))
        self._contents.clear()
        sent = [job, _stdin_file(self._stdin)]
        for stream in (1, 2):
            read, write = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(read, False)
            self.pipes[read] = stream
            sent.append(write)
        if self._job["build"]:
            self.built, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            sent.append(write)
        self.started = time.monotonic()
        self.deadline: float = self.started + self.limits["wall_s"]
        self.next_look = self.started + self._look_in(0.0)
        self.peak = 0
        return sent

    def _look_in(self, used_s: float) -> float:
        """When to look at the counters again: not before the limit can have been reached."""
        if self._samples:
            return _POLL_S
        left: float = self.limits["cpu_s"] - used_s
        return max(left / _CORES, 0.005)

    @property
    def _samples(self) -> bool:
        """Whether counters must be read from ``/proc``, for want of control groups."""
        return self._sampled and not (self.group.counts_cpu and self.group.counts_memory)

    # --- while it runs -----------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Compare clocks and counters with the limits; kill at the first that is passed."""
        if now >= self.deadline:
            self.kill("wall")
        elif now >= self.next_look:
            sampled, resident = 0.0, 0
            if self._samples:
                sampled, resident = _usage.tree_usage(self.init, self.limits["memory_mib"] << 20)
            used = self.group.cpu_s() if self.group.counts_cpu else sampled
            self.peak = max(self.peak, resident)
            if used > self.limits["cpu_s"]:
                self.kill("cpu")
            elif not self.group.counts_memory and resident > self.limits["memory_mib"] << 20:
                self.kill("memory")
            self.next_look = now + self._look_in(used)

    def drain(self, pipe: int) -> bool:
        """Read a bounded piece of output; return False at its end."""
        stream = self.pipes[pipe]
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        kept = self.outputs[stream]
        room = (self.limits["output_kib"] << 10) - len(kept)
        kept += data[:room]
        if len(data) > room:
            self.truncated[stream] = True
            self.kill("output")
        return bool(data)

    def kill(self, reason: str) -> None:
        """Kill the world's init, and with it every process of the run; the first reason stays."""
        if not self.killed:
            self.killed = reason
            try:
                signal.pidfd_send_signal(self.init, signal.SIGKILL)
            except ProcessLookupError:
                self.killed = ""  # it had ended already

    # --- end ---------------------------------------------------------------------------------

    def finish(self, report: dict[str, Any]) -> tuple[Header, list[bytes]]:
        """Read the counters and outputs of a run whose processes are all dead."""
        wall_s = time.monotonic() - self.started
        counted = self.group.cpu_s() if self.group.counts_cpu else report["cpu_s"]
        self._drain_rest()
        code, number = _exit(report["status"])
        delay = max(0.0, report["run_delay_s"] - max(0.0, counted - report["leader_cpu_s"]))
        peak = self.group.peak_bytes() or max(self.peak, report["maxrss_kib"] << 10)
        disk = os.fstatvfs(self.box)
        files: dict[str, bytes] = {}
        refused: list[str] = []
        if self.names:
            files, refused = fetch(self.box, self.names, self.limits["output_kib"] << 10)
        oom_kills, refused_forks = self.group.end()
        seen = Observed(
            exit_code=code,
            killed=self.killed,
            cpu_s=counted,
            cpu_limit_s=self.limits["cpu_s"],
            oom_kills=oom_kills,
            refused_forks=refused_forks,
            disk_full=disk.f_bfree == 0 or disk.f_ffree == 0,
            run_delay_s=delay,
            wall_limit_s=self.limits["wall_s"],
            build_failed=self.built >= 0 and not _spoke(self.built),
        )
        header = {
            "event": "done",
            "id": self.id,
            "status": status(seen),
            "exit_code": code,
            "signal": number,
            "cpu_s": counted,
            "wall_s": wall_s,
            "peak_memory_kib": peak >> 10,
            "truncated": [self.truncated[1], self.truncated[2]],
            "files": list(files),
            "run_delay_s": delay,
            "load_1m": os.getloadavg()[0],
            "note": self._note(refused),
            "events": self._events(refused, number, oom_kills),
        }
        return header, [bytes(self.outputs[1]), bytes(self.outputs[2]), *files.values()]

    def _note(self, refused: list[str]) -> str:
        notes = [f"output refused: {text}" for text in refused]
        if self.killed:
            notes.insert(0, f"killed at its {self.killed} limit")
        return "; ".join(notes)

    def _events(
        self, refused: list[str], number: int | None, oom_kills: int
    ) -> list[tuple[str, str]]:
        events = [("refused_output", text) for text in refused]
        if self.killed and self.killed != "cancel":
            events.append(("limit_kill", self.killed))
        if oom_kills:
            events.append(("limit_kill", "memory"))
        if number == signal.SIGSYS:
            events.append(("denied_call", "a system call of another ABI"))
        return events

    def _drain_rest(self) -> None:
        """Read what the pipes still hold; nobody can write any more."""
        for pipe in self.pipes:
            before = -1
            while len(self.outputs[self.pipes[pipe]]) != before and self.drain(pipe):
                before = len(self.outputs[self.pipes[pipe]])

    def close(self) -> None:
        """Close everything of the run."""
        for fd in (*self.pipes, self.init, self.box, self.built):
            if fd >= 0:
                os.close(fd)
        self.pipes.clear()


def _stdin_file(content: bytes) -> int:
    """Return a read-only file with the whole input: nobody has to pump it."""
    if not content:
        return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    return fd


def _spoke(pipe: int) -> bool:
    try:
        return bool(os.read(pipe, 1))
    except BlockingIOError:
        return False


def _exit(wait_status: int) -> tuple[int | None, int | None]:
    if os.WIFSIGNALED(wait_status):
        return None, os.WTERMSIG(wait_status)
    return os.WEXITSTATUS(wait_status), None
