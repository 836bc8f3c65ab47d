"""The launcher: one process, one thread, one loop between a caller and its worlds.

It dies with its caller: the end of the connection, or the caller's death, ends every world and
removes every control group. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes.util  # noqa: F401  everything must be imported before the template hides paths
import errno
import marshal
import os
import resource
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

    def __init__(
        self, index: int, group: SlotGroup, connection: socket.socket, jobs: socket.socket
    ) -> None:
        self.index, self.group, self.connection, self.jobs = index, group, connection, jobs
        self.opening: int | None = None
        """The request that opened it, when it is a session's and nobody was told yet."""
        self.session = False
        self.pid = 0
        """The process in stock, in the slot's own numbering."""
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
        self.backlog = False
        """Whether the caller is slow to read, and the loop waits until it can be written to."""
        self.queue: deque[Run] = deque()
        self.slots: dict[int, _Slot] = {}
        """By descriptor of the slot's connection."""
        self.runs: dict[int, _Slot] = {}
        """By descriptor of an output pipe."""
        self.retired: list[SlotGroup] = []
        """Groups whose last processes are about to die."""
        self.poll = select.epoll()
        self.interpreter = Interpreter(*config["interpreter"])
        self.environment = {**base_environment(self.interpreter), **config["env"]}

    # --- opening -----------------------------------------------------------------------------

    def open(self) -> None:
        """Build the template and the zygotes, and tell the caller which walls stand."""
        off = self.config["off"]
        self.cgroups = Cgroups(off)
        self.rootless = not _enter_own_mounts()
        layers = [(source, target) for source, target in self.config["layers"]]
        root = build(
            self.interpreter, layers, self.config["hidden"], read_only="read_only_root" not in off
        )
        first = _FIRST_ID + os.getpid() % 32768 * _IDS_EACH
        ids = ("0 0 1", True) if self.rootless else (f"0 {first} {_IDS_EACH}", False)
        share_net = "net_namespace" in off
        self.zygote = spawn(root, self.interpreter, ids, self.environment, share_net=share_net)
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
            self.zygote.control.send(marshal.dumps(settings))
        answer = self.zygote.control.recv(1 << 16)
        if not answer:
            raise OSError(f"the zygote did not start: {self.zygote.complaint()}")
        self.prepared = marshal.loads(answer)  # noqa: S302  our own code's
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

    def add_slot(self, index: int, *, session: bool = False) -> _Slot:
        """Have the main zygote fork a slot zygote."""
        group = self.cgroups.slot(index)
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        (ours, theirs), (jobs, their_jobs) = pairs
        joins = group.join_fds()
        uid = 1000 if self.rootless else 1000 + index
        request = marshal.dumps({"uid": uid, "session": session})
        handed = [theirs.fileno(), their_jobs.fileno(), *joins]
        socket.send_fds(self.zygote.control, [request], handed)
        theirs.close()
        their_jobs.close()
        for fd in joins:
            os.close(fd)
        slot = self.slots[ours.fileno()] = _Slot(index, group, ours, jobs)
        slot.session = session
        self.poll.register(ours, select.EPOLLIN)
        return slot

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
            self.retired = [group for group in self.retired if not group.remove()]

    def patience(self) -> float:
        """Return how long nothing can be due, in seconds."""
        running = [slot.run for slot in self.slots.values() if slot.run and not slot.run.killed]
        if not running:
            return 0.05 if self.retired else -1
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
            self.on_request(header, blobs)
        self.dispatch()
        return bool(data)

    def on_request(self, header: Header, blobs: list[bytes]) -> None:
        if header["op"] == "execute":
            sampled = "sampling" not in self.config["off"]
            run = Run(header, blobs, sampled)
            if self.prepared["threads"] != 1:
                run.start_cold()  # a fork would lose the threads and keep their locks
            self.queue.append(run)
        elif header["op"] == "open":
            self.open_session(header["id"])
        elif header["op"] == "close":
            self.close_session(header["session"])
        elif header["op"] == "stop":
            slot = self.session_slot(header["session"])
            if slot is not None:
                self.order(slot, f"stop {header['pid']}")
        else:
            self.cancel(header["id"])

    # --- sessions ----------------------------------------------------------------------------

    def open_session(self, identity: int) -> None:
        """Add a slot of its own; the caller hears when its world stands."""
        taken = {slot.index for slot in self.slots.values()}
        index = next(number for number in range(len(taken) + 1) if number not in taken)
        if index + 1000 >= _IDS_EACH:
            self.reply({"event": "fault", "id": identity, "problem": "too many sessions"}, [])
            return
        self.add_slot(index, session=True).opening = identity

    def session_slot(self, index: int) -> _Slot | None:
        """Find the slot of a session; None when it is gone."""
        for slot in self.slots.values():
            if slot.session and slot.index == index:
                return slot
        return None

    def close_session(self, index: int) -> None:
        """End a session's world: its zygote ends with the connection, all else with that."""
        slot = self.session_slot(index)
        if slot is not None:
            self.forget(slot)
            self.retired.append(slot.group)

    def order(self, slot: _Slot, text: str) -> None:
        """Tell a slot zygote something; one that is gone is noticed elsewhere."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            slot.connection.send(text.encode())

    # --- runs --------------------------------------------------------------------------------

    def cancel(self, identity: int) -> None:
        """Forget a waiting run, or end a running one; nobody waits for its result."""
        self.queue = deque(run for run in self.queue if run.id != identity)
        for slot in self.slots.values():
            if slot.run is not None and slot.run.id == identity:
                slot.run.kill("cancel")

    def dispatch(self) -> None:
        """Hand waiting programs to worlds in stock."""
        free = [slot for slot in self.slots.values() if slot.world and slot.run is None]
        sessions = {slot.index: slot for slot in free if slot.session}
        shared = [slot for slot in free if not slot.session]
        waiting: deque[Run] = deque()
        while self.queue and (sessions or shared):
            run = self.queue.popleft()
            if run.session is not None and run.session in sessions:
                self.start(sessions.pop(run.session), run)
            elif run.session is None and shared:
                self.start(shared.pop(0), run)
            elif run.session is not None and self.session_slot(run.session) is None:
                self.reply({"event": "fault", "id": run.id, "problem": "the session ended"}, [])
            else:
                waiting.append(run)
        waiting.extend(self.queue)
        self.queue = waiting

    def start(self, slot: _Slot, run: Run) -> None:
        """Hand one program to the world that a slot has in stock."""
        world, slot.world, slot.run = slot.world or (-1, -1), None, run
        sent = run.start(slot.group, *world)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(slot.jobs, [b"job"], sent)
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
        report = marshal.loads(message)  # noqa: S302  our own code's, which no program reaches
        if report["event"] == "ready":
            slot.world, slot.pid, slot.proven = (fds[0], fds[1]), report["pid"], True
            if slot.opening is not None:
                self.reply({"event": "opened", "id": slot.opening, "session": slot.index}, [])
                slot.opening = None
            self.dispatch()
        elif report["event"] == "taken":
            self.order(slot, "detach")
        elif report["event"] == "failed" and slot.run is not None:
            slot.run.problem = report["problem"]
        elif report["event"] == "service" and slot.run is not None:
            self.reply({"event": "service", "id": slot.run.id, "pid": report["pid"]}, [])
            self.close_run(slot.run)
            slot.run = None
            self.order(slot, "next")
        elif report["event"] == "exit":
            self.on_exit(slot, report)

    def on_exit(self, slot: _Slot, report: dict[str, Any]) -> None:
        run, slot.run = slot.run, None
        sweep = slot.session and run is not None and run.killed
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
        self.order(slot, "sweep" if sweep else "next")

    def replace(self, slot: _Slot) -> None:
        """Put a new slot zygote in the place of one that died."""
        run = slot.run
        if not slot.proven:
            raise OSError(errno.EPERM, f"no world can be made: {self.zygote.complaint()}")
        if run is not None and slot.group.ran_out_of_memory():
            gone = {"status": signal.SIGKILL, "cpu_s": 0.0, "maxrss_kib": 0}
            gone |= {"leader_cpu_s": 0.0, "run_delay_s": 0.0}
            self.reply(*run.finish(gone))
        elif run is not None:
            problem = f"the slot died: {run.problem or self.zygote.complaint()}"
            self.reply({"event": "fault", "id": run.id, "problem": problem}, [])
        self.forget(slot)
        if slot.session or not slot.group.remove():
            self.retired.append(slot.group)
        if not slot.session:
            self.add_slot(slot.index)

    def forget(self, slot: _Slot) -> None:
        """Let go of a slot's connections and of what runs in it."""
        self.poll.unregister(slot.connection)
        del self.slots[slot.connection.fileno()]
        slot.connection.close()
        slot.jobs.close()
        for fd in slot.world or ():
            os.close(fd)
        if slot.run is not None:
            self.close_run(slot.run)

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
        if self.backlog != bool(self.outgoing):
            self.backlog = bool(self.outgoing)
            wanted = select.EPOLLIN | (select.EPOLLOUT if self.backlog else 0)
            with contextlib.suppress(FileNotFoundError):  # before the loop begins
                self.poll.modify(self.caller, wanted)

    # --- closing -----------------------------------------------------------------------------

    def close(self) -> None:
        """End every world and remove every control group."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it often comes just behind the caller's end
        if hasattr(self, "zygote"):
            self.zygote.kill()
        left = [*(slot.group for slot in self.slots.values()), *self.retired]
        for _ in range(100):
            left = [group for group in left if not group.remove()]
            if not left:
                return
            time.sleep(0.01)


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
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a session takes about ten
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
