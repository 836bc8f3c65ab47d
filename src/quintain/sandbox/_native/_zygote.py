"""The zygotes: warm interpreters that fork worlds; runs inside the template, stdlib only.

Invariants: one thread; no descriptor, environment variable or byte of memory that belongs to
the caller, to a judge or to an earlier program. A zygote makes a world and waits for its end;
the program itself is read by the forked process alone (`_world`).

``main`` returns only in that forked process, with what is to be run.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps; no stubs
import _socket
import ctypes
import gc
import marshal
import os

from quintain.sandbox._native import _seccomp, _session, _slot, _sys, _world

TYPE_CHECKING = False  # `typing` stays out of the zygote
if TYPE_CHECKING:
    from typing import Any

__all__ = ["main"]

_DETACHED = _sys.CLONE_NEWPID | _sys.CLONE_NEWNS | _sys.CLONE_NEWIPC | _sys.CLONE_NEWUTS
_PROC_FLAGS = _sys.MS_NOSUID | _sys.MS_NODEV | _sys.MS_NOEXEC


def main(control_fd: int) -> _world.Start:
    """Prepare this interpreter, then make one slot zygote for each request."""
    _sys.set_pdeathsig(_signal.SIGKILL)
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # slots that end are reaped by the kernel
    control = _socket.socket(fileno=control_fd)
    os.set_inheritable(control_fd, False)
    config: dict[str, Any] = marshal.loads(control.recv(1 << 16))  # noqa: S302  from the launcher, which is ours
    if config["hostname"]:
        _socket.sethostname(config["hostname"])
    problem = _preload(config["preload"])
    _harden(config)
    _world.prepare(config)
    gc.collect()
    gc.freeze()
    _slot.tell(control, {"problem": problem, "threads": _threads()})
    while True:
        message, fds = _slot.receive(control)
        if not message:
            os._exit(0)
        flags = _DETACHED | (_sys.CLONE_NEWUSER if config["rootless"] else 0)
        if _sys.clone3(flags) == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
            control.close()
            request = marshal.loads(message)  # noqa: S302  as above
            return _Slot(config, request, fds).serve()
        for fd in fds:
            os.close(fd)


def _preload(names: list[str]) -> str:
    for name in names:
        try:
            __import__(name)
        except BaseException as error:  # noqa: BLE001  an import may raise anything
            return f"import {name}: {type(error).__name__}: {error}"
    return ""


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208  pathlib stays out of the zygote


def _harden(config: dict[str, Any]) -> None:
    """Raise the walls that all worlds share and that making worlds survives."""
    if "no_new_privs" not in config["off"]:
        _sys.no_new_privs()
    if "no_capabilities" not in config["off"]:
        _sys.bounding_set_drop()
    if "seccomp" not in config["off"]:
        _seccomp.Filter(_seccomp.build(_seccomp.BASE)).load()
    _sys.set_dumpable(False)


class _Slot:
    """Makes one world after another, and keeps one in stock."""

    def __init__(
        self, config: dict[str, Any], request: dict[str, Any], fds: tuple[int, ...]
    ) -> None:
        _sys.set_pdeathsig(_signal.SIGKILL)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        self.config = config
        self.uid: int = request["uid"]
        self.socket, self.jobs = _socket.socket(fileno=fds[0]), _socket.socket(fileno=fds[1])
        self.session: bool = request["session"]
        if config["rootless"]:
            _map_self(self.uid)
        for fd in fds[2:]:
            os.write(fd, b"0")  # enter this slot's control groups
            os.close(fd)
        _sys.mount("proc", "/proc", "proc", _PROC_FLAGS)
        self.pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        if "net_namespace" not in config["off"]:
            _sys.unshare(_sys.CLONE_NEWNET)  # also to come back to, which takes owning it
        # entered again after making a world's own
        self.spaces = [
            (os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), flag)
            for wall, name, flag in _world.RUN_NAMESPACES
            if wall not in config["off"]
        ]
        self.space_flags = sum(flag for _, flag in self.spaces)
        if config["pooled"] and not self.session:  # commands of a session see each other
            _sys.mount("proc", "/proc", "proc", _PROC_FLAGS, _world.PROC_OPTIONS)

    def serve(self) -> _world.Start:
        """Make worlds until the launcher is gone; returns in a run's own process."""
        if self.session:
            return _session.Session(self.socket, self.jobs, self.uid, self.config).serve()
        while True:
            start = self._pooled() if self.config["pooled"] else self._fresh()
            if start is not None:
                return start
            if not self.socket.recv(16):  # the launcher has read the counters, or is gone
                os._exit(0)
            _slot.discard(self.jobs)

    def _fresh(self) -> _world.Start | None:
        """Make a world of new namespaces, wait for its program's end, tear it down, report."""
        init = _sys.tiny_init()
        init_fd = os.pidfd_open(init)
        box = _world.new_box()
        # made here, where memory is warm, for the child to be born into
        _sys.unshare(self.space_flags)
        _world.attach_box(box, self.uid)
        if "pid_namespace" not in self.config["off"]:
            # to enter a namespace is to look into its init, whose memory is this process's own
            _sys.set_dumpable(True)
            _sys.setns(init_fd, _sys.CLONE_NEWPID)
            _sys.set_dumpable(False)
        child = os.fork()
        if child == 0:
            os.close(init_fd)
            return _world.enter(self.socket, self.jobs, self.uid, self.config, fresh=True)
        _sys.setns(self.pid_namespace, _sys.CLONE_NEWPID)
        for space, flag in self.spaces:
            _sys.setns(space, flag)
        _slot.offer(self.socket, init_fd, box)
        os.close(box)
        report = _slot.await_end(child)
        _slot.kill(init)
        os.waitpid(init, 0)
        os.close(init_fd)
        _slot.tell(self.socket, report)
        return None

    def _pooled(self) -> _world.Start | None:
        """Make a process and directories in this slot's own namespaces; kill all at its end."""
        box = _world.new_box()
        _world.attach_box(box, self.uid)
        child = os.fork()
        if child == 0:
            return _world.enter(self.socket, self.jobs, self.uid, self.config, fresh=False)
        child_fd = os.pidfd_open(child)
        _slot.offer(self.socket, child_fd, box)
        os.close(box)
        os.close(child_fd)
        report = _slot.await_end(child)
        _kill_all()
        _sys.umount("/work", _sys.MNT_DETACH)
        _sys.umount("/box", _sys.MNT_DETACH)
        _slot.tell(self.socket, report)
        return None


def _kill_all() -> None:
    """As pid 1: end everything in the namespace but this process."""
    _slot.kill(-1)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def _map_self(uid: int) -> None:
    """Give this slot's own user namespace its single user."""
    _sys.set_dumpable(True)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} 0 1"), ("gid_map", f"{uid} 0 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
            file.write(text)
    _sys.set_dumpable(False)
