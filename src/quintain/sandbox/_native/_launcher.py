"""The launcher: one process, one thread, one loop between a caller and its worlds.

It dies with its caller: the end of the connection, or the caller's death, ends every world and
removes every control group. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes.util  # noqa: F401  everything must be imported before the template hides paths
import errno
import json
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from quintain.sandbox._native import _landlock, _sys
from quintain.sandbox._native._cgroup import Cgroups, SlotGroup
from quintain.sandbox._native._run import Run
from quintain.sandbox._native._spawn import base_environment, spawn
from quintain.sandbox._native._template import Interpreter, build
from quintain.sandbox._wire import Header, Reader, frame

__all__ = ["main"]

_FIRST_ID = 0x70000000
_IDS_EACH = 4096
"""User ids that one launcher maps, so that two launchers share none."""


_ALWAYS = (
    "user_namespace",
    "mount_namespace",
    "pid_namespace",
    "ipc_namespace",
    "uts_namespace",
    "net_namespace",
    "read_only_root",
    "no_capabilities",
    "no_new_privs",
    "seccomp",
    "rlimits",
)
"""Walls without which no world is made: raising any of them fails loudly."""


class _Slot:
    """One slot zygote and the world that it has in stock or in use."""

    def __init__(self, index: int, group: SlotGroup, connection: socket.socket) -> None:
        self.index, self.group, self.connection = index, group, connection
        self.world: tuple[int, int] | None = None
        """pidfd of the init and descriptor of the box, when a world is in stock."""
        self.run: Run | None = None
        self.proven = False
        """It has made a world before; one that never did would only fail again."""


class Launcher:
    """State of the loop."""

    def __init__(self, caller: socket.socket, config: dict[str, Any]) -> None:
        self.caller, self.config = caller, config
        self.reader, self.outgoing = Reader(), bytearray()
        self.queue: deque[Run] = deque()
        self.slots: dict[int, _Slot] = {}
        """By descriptor of the slot's connection."""
        self.runs: dict[int, _Slot] = {}
        """By descriptor of an output pipe."""
        self.poll = select.epoll()
        self.interpreter = Interpreter(*config["interpreter"])
        self.environment = base_environment(self.interpreter)

    # --- opening -----------------------------------------------------------------------------

    def open(self) -> None:
        """Build the template and the zygotes, and tell the caller which walls stand."""
        off = self.config["off"]
        self.cgroups = Cgroups(off)
        self.rootless = not _enter_own_mounts()
        root = build(self.interpreter, self.config["hidden"], "read_only_root" not in off)
        first = _FIRST_ID + os.getpid() % 32768 * _IDS_EACH
        ids = ("0 0 1", True) if self.rootless else (f"0 {first} {_IDS_EACH}", False)
        share_net = "net_namespace" in off
        self.zygote = spawn(root, self.interpreter, ids, share_net=share_net)
        self.landlock = _landlock.abi()
        settings = {
            "preload": self.config["preload"],
            "rootless": self.rootless,
            "off": off,
            "pooled": self.config["pooled"],
            "landlock": self.landlock,
            "hostname": "world",
            # where a control group counts processes, and says so, rlimits come second
            "spare_processes": 64 if self.cgroups.walls["cgroup_pids"] else 2,
            "no_memory_cgroup": not self.cgroups.walls["cgroup_memory"],
        }
        with contextlib.suppress(BrokenPipeError):
            self.zygote.control.send(json.dumps(settings).encode())
        answer = self.zygote.control.recv(1 << 16)
        if not answer:
            raise OSError(f"the zygote did not start: {self.zygote.complaint()}")
        self.prepared = json.loads(answer)
        for index in range(self.config["slots"]):
            self.add_slot(index)
        self.poll.register(self.caller, select.EPOLLIN)
        self.poll.register(self.zygote.control, select.EPOLLIN)

    def report(self) -> Header:
        """Describe the walls around every world to come."""
        walls = dict.fromkeys(_ALWAYS, True)
        walls |= {"landlock": self.landlock > 0, "own_uid": not self.rootless}
        walls |= self.cgroups.walls
        walls["sampling"] = not (walls["cgroup_memory"] and walls["cgroup_cpu"])
        walls |= dict.fromkeys(self.config["off"], False)
        return {"event": "open", "walls": walls, "prepared": self.prepared}

    def add_slot(self, index: int) -> None:
        """Have the main zygote fork a slot zygote."""
        group = self.cgroups.slot(index)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        joins = group.join_fds()
        uid = 1000 if self.rootless else 1000 + index
        request = json.dumps({"uid": uid}).encode()
        socket.send_fds(self.zygote.control, [request], [theirs.fileno(), *joins])
        theirs.close()
        for fd in joins:
            os.close(fd)
        self.slots[ours.fileno()] = _Slot(index, group, ours)
        self.poll.register(ours, select.EPOLLIN)

    # --- the loop ----------------------------------------------------------------------------

    def serve(self) -> None:
        """Loop until the caller is gone."""
        while True:
            for fd, events in self.poll.poll(self.patience()):
                if fd in self.runs:
                    self.on_output(fd)
                elif fd in self.slots:
                    self.on_slot(self.slots[fd])
                elif fd == self.zygote.control.fileno():
                    raise OSError(f"the zygote died: {self.zygote.complaint()}")
                elif fd == self.caller.fileno() and not self.on_caller(events):
                    return
            now = time.monotonic()
            for slot in self.slots.values():
                if slot.run is not None and not slot.run.killed:
                    slot.run.look(now)

    def patience(self) -> float:
        """Return how long nothing can be due, in seconds."""
        running = [slot.run for slot in self.slots.values() if slot.run and not slot.run.killed]
        if not running:
            return -1
        due = min(min(run.deadline, run.next_look) for run in running)
        return max(due - time.monotonic(), 0.0) + 0.0005

    def on_caller(self, events: int) -> bool:
        """Take requests and hand out replies; return False when the caller is gone."""
        if events & select.EPOLLOUT:
            self.flush()
        if not events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
            return True
        try:
            data = self.caller.recv(1 << 20)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        for header, blobs in self.reader.feed(data):
            if header["op"] == "execute":
                sampled = "sampling" not in self.config["off"]
                self.queue.append(Run(header, blobs, self.environment, sampled))
            else:
                self.cancel(header["id"])
        self.dispatch()
        return bool(data)

    def cancel(self, identity: int) -> None:
        """Forget a waiting run, or end a running one; nobody waits for its result."""
        self.queue = deque(run for run in self.queue if run.id != identity)
        for slot in self.slots.values():
            if slot.run is not None and slot.run.id == identity:
                slot.run.kill("cancel")

    def dispatch(self) -> None:
        """Hand waiting programs to worlds in stock."""
        for slot in self.slots.values():
            if not self.queue:
                return
            if slot.world is None or slot.run is not None:
                continue
            run = slot.run = self.queue.popleft()
            sent = run.start(slot.group, *slot.world)
            slot.world = None
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                socket.send_fds(slot.connection, [b"job"], sent)
            for fd in sent:
                os.close(fd)
            for pipe in run.pipes:
                self.runs[pipe] = slot
                self.poll.register(pipe, select.EPOLLIN)

    def on_output(self, pipe: int) -> None:
        run = self.runs[pipe].run
        if run is None or not run.drain(pipe):
            self.poll.unregister(pipe)
            del self.runs[pipe]

    def on_slot(self, slot: _Slot) -> None:
        """Hear from a slot zygote, or from the process that it forked."""
        try:
            message, fds, _, _ = socket.recv_fds(slot.connection, 1 << 16, 2)
        except ConnectionError:
            message, fds = b"", []
        if not message:
            self.replace(slot)
            return
        report = json.loads(message)
        if report["event"] == "ready":
            slot.world, slot.proven = (fds[0], fds[1]), True
            self.dispatch()
        elif report["event"] == "failed" and slot.run is not None:
            slot.run.problem = report["problem"]
        elif report["event"] == "exit":
            self.on_exit(slot, report)

    def on_exit(self, slot: _Slot, report: dict[str, Any]) -> None:
        run, slot.run = slot.run, None
        if run is None:
            # a world in stock died, for instance of another's memory limit: make another
            for fd in slot.world or ():
                os.close(fd)
            slot.world = None
        elif run.problem:
            self.reply({"event": "fault", "id": run.id, "problem": run.problem}, [])
            self.close_run(run)
        else:
            self.reply(*run.finish(report))
            self.close_run(run)
        with contextlib.suppress(BrokenPipeError):
            slot.connection.send(b"next")

    def replace(self, slot: _Slot) -> None:
        """Put a new slot zygote in the place of one that died."""
        run = slot.run
        if not slot.proven:
            raise OSError(errno.EPERM, f"no world can be made: {self.zygote.complaint()}")
        self.poll.unregister(slot.connection)
        del self.slots[slot.connection.fileno()]
        slot.connection.close()
        for fd in slot.world or ():
            os.close(fd)
        if run is not None:
            if slot.group.oom_kills():
                gone = {"status": signal.SIGKILL, "cpu_s": 0.0, "maxrss_kib": 0}
                gone |= {"leader_cpu_s": 0.0, "run_delay_s": 0.0}
                self.reply(*run.finish(gone))
            else:
                problem = f"the slot died: {run.problem or self.zygote.complaint()}"
                self.reply({"event": "fault", "id": run.id, "problem": problem}, [])
            self.close_run(run)
        slot.group.remove()
        self.add_slot(slot.index)

    def close_run(self, run: Run) -> None:
        for pipe in run.pipes:
            if self.runs.pop(pipe, None) is not None:
                self.poll.unregister(pipe)
        run.close()

    def reply(self, header: Header, blobs: list[bytes]) -> None:
        """Queue one message to the caller and write what fits."""
        self.outgoing += frame(header, blobs)
        self.flush()

    def flush(self) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self.outgoing:
                sent = self.caller.send(self.outgoing)
                del self.outgoing[:sent]
        wanted = select.EPOLLIN | (select.EPOLLOUT if self.outgoing else 0)
        with contextlib.suppress(FileNotFoundError):  # before the loop begins
            self.poll.modify(self.caller, wanted)

    # --- closing -----------------------------------------------------------------------------

    def close(self) -> None:
        """End every world and remove every control group."""
        if hasattr(self, "zygote"):
            self.zygote.kill()
        for slot in self.slots.values():
            slot.group.remove()


def _enter_own_mounts() -> bool:
    """Enter a mount namespace of our own; return whether that needed no user namespace."""
    try:
        _sys.unshare(_sys.CLONE_NEWNS)
        privileged = Path("/proc/self/uid_map").read_text().split()[:2] == ["0", "0"]
    except PermissionError:
        uid, gid = os.getuid(), os.getgid()
        _sys.unshare(_sys.CLONE_NEWUSER | _sys.CLONE_NEWNS)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
        privileged = False
    _sys.mount(None, "/", None, _sys.MS_REC | _sys.MS_PRIVATE)
    return privileged


def main(fd: int) -> None:
    """Serve the caller on the other side of ``fd``."""
    _sys.set_pdeathsig(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's ^C is the caller's business
    caller = socket.socket(fileno=fd)
    config = _first_message(caller)
    launcher = Launcher(caller, config)
    try:
        launcher.open()
        launcher.reply(launcher.report(), [])
        caller.setblocking(False)
        launcher.serve()
    except OSError as error:
        caller.setblocking(True)
        launcher.outgoing.clear()
        launcher.reply({"event": "broken", "problem": str(error), "errno": error.errno or 0}, [])
    finally:
        launcher.close()


def _first_message(caller: socket.socket) -> dict[str, Any]:
    reader = Reader()
    while True:
        data = caller.recv(1 << 16)
        if not data:
            sys.exit(0)
        for header, _ in reader.feed(data):
            return header
