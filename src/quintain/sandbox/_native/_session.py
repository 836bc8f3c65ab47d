"""A slot that keeps its world: many commands, services between them; stdlib only.

The slot zygote is the init of the world's pid namespace. Commands come one after the other;
what they leave running lives on until the session ends or a command passes a limit: then all
but the services is killed. Orphans are reaped here.
"""

from __future__ import annotations

import _socket
import os
import select

from quintain.sandbox._native import _slot, _world

TYPE_CHECKING = False  # `typing` stays out of the zygote
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Session"]

_REAP_EVERY_MS = 500


class Session:
    """The loop of a session's slot zygote."""

    def __init__(
        self, control: _socket.socket, jobs: _socket.socket, uid: int, config: dict[str, Any]
    ) -> None:
        self.control, self.jobs, self.uid, self.config = control, jobs, uid, config
        self.services: set[int] = set()

    def serve(self) -> _world.Start:
        """Keep one process in stock until the launcher is gone; returns in that process."""
        box = self._box()
        while True:
            child = os.fork()
            if child == 0:
                return _world.enter(self.control, self.jobs, self.uid, self.config, fresh=False)
            child_fd = os.pidfd_open(child)
            _slot.offer(self.control, child_fd, box, child)
            report = self._attend(child, child_fd)
            os.close(child_fd)
            _slot.tell(self.control, report)
            self._between()
            _slot.discard(self.jobs)

    def _box(self) -> int:
        """Attach the world's disk; in a fork, over the files of its snapshot."""
        box = _world.new_box()
        _world.attach_box(box, self.uid)
        return box

    def _attend(self, child: int, child_fd: int) -> dict[str, Any]:
        """Wait until the process in stock has ended, or goes on as a service."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(child_fd, select.POLLIN)
        while True:
            ready = dict(poller.poll(_REAP_EVERY_MS))
            if self.control.fileno() in ready and self._obey(self._hear(), child):
                return {"event": "service", "pid": child}
            if child_fd in ready:
                return _slot.await_end(child)
            self._reap(child)

    def _hear(self) -> str:
        message = self.control.recv(64)
        if not message:
            os._exit(0)  # the end of this process is the end of the world
        return message.decode()

    def _obey(self, order: str, child: int) -> bool:
        """Do what the launcher asks; return whether the process in stock became a service."""
        verb, _, number = order.partition(" ")
        if verb == "detach":
            self.services.add(child)
            return True
        if verb == "stop" and int(number) in self.services:
            self.services.discard(int(number))
            _slot.kill(-int(number))
        return False

    def _between(self) -> None:
        """Between two commands: wait for leave to go on, sweep first if told to."""
        while True:
            order = self._hear()
            if order == "sweep":
                self._sweep()
            if order in ("next", "sweep"):
                return
            if order != "detach":  # what was to be detached has ended already
                self._obey(order, -1)

    def _sweep(self) -> None:
        """Kill all processes of the world but its services."""
        while True:
            found = [pid for pid in _pids() if pid != 1 and not self._is_service(pid)]
            if not found:
                return
            for pid in found:
                _slot.kill(pid)
            self._reap(-1)

    def _is_service(self, pid: int) -> bool:
        try:
            return os.getsid(pid) in self.services
        except ProcessLookupError:
            return True  # gone in the meantime

    def _reap(self, spared: int) -> None:
        """Read the ends of all children but one."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None or ended.si_pid == spared:
                return
            os.waitpid(ended.si_pid, 0)
            self.services.discard(ended.si_pid)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
