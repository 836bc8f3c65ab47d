"""Control groups, version 1 or 2, one set of groups a slot; launcher side.

Groups are made once a slot and live as long as it: making and leaving a group for each run
costs more than the run. They lie below the caller's own group where that can hold children, so
that the limits of whoever started the caller still apply.

Where a controller is not writable its wall does not stand, and `Cgroups.walls` says so.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

__all__ = ["Cgroups", "SlotGroup", "sweep"]

_PREFIX = "quintain-"
_WALL = {
    "memory": "cgroup_memory",
    "pids": "cgroup_pids",
    "cpuacct": "cgroup_cpu",
    "cpu": "cgroup_cpu",
}
_CONTROLLERS = tuple(_WALL)


class Cgroups:
    """The places where slot groups can be made."""

    def __init__(self, off: Collection[str] = ()) -> None:
        v1, v2 = _mounts()
        self.v1: dict[str, Path] = {}
        wanted = [name for name in _CONTROLLERS if _WALL[name] not in off]
        for controller in wanted:
            parent = v1.get(controller)
            if parent is not None and os.access(parent, os.W_OK):
                self.v1[controller] = parent
        self.v2: Path | None = None if v1 or "cgroup_memory" in off else _delegated(v2)
        self.name = f"{_PREFIX}{os.getpid()}"
        for parent in self._parents():
            sweep(parent)

    def _parents(self) -> set[Path]:
        return {*self.v1.values(), *([self.v2] if self.v2 else [])}

    @property
    def walls(self) -> dict[str, bool]:
        """Which of the three walls stand."""
        if self.v2 is not None:
            have = set((self.v2 / "cgroup.subtree_control").read_text().split())
            return {f"cgroup_{name}": name in have for name in ("memory", "pids", "cpu")}
        cpu = {"cpu", "cpuacct"} <= set(self.v1)
        return {
            "cgroup_memory": "memory" in self.v1,
            "cgroup_pids": "pids" in self.v1,
            "cgroup_cpu": cpu,
        }

    def slot(self, index: int) -> SlotGroup:
        """Make the groups of one slot."""
        leaf = f"{self.name}-{index}"
        if self.v2 is not None:
            return SlotGroup({"": self.v2 / leaf})
        return SlotGroup({name: parent / leaf for name, parent in self.v1.items()})


class SlotGroup:
    """The groups of one slot: what it may use, and what it has used."""

    def __init__(self, paths: dict[str, Path]) -> None:
        self._paths = paths
        self._files: dict[str, int] = {}
        self._limits: tuple[int, int] | None = None
        self._base = (0, 0, 0)
        self._ended = (0, 0)
        for path in set(paths.values()):
            path.mkdir(exist_ok=True)
        v1 = {
            "cpu": ("cpuacct", "cpuacct.usage", os.O_RDONLY),
            "peak": ("memory", "memory.max_usage_in_bytes", os.O_RDWR),
            "oom": ("memory", "memory.oom_control", os.O_RDONLY),
            "memory": ("memory", "memory.limit_in_bytes", os.O_WRONLY),
            "pids": ("pids", "pids.max", os.O_WRONLY),
            "pids_events": ("pids", "pids.events", os.O_RDONLY),
        }
        v2 = {
            "cpu": ("", "cpu.stat", os.O_RDONLY),
            "peak": ("", "memory.peak", os.O_RDWR),
            "oom": ("", "memory.events", os.O_RDONLY),
            "memory": ("", "memory.max", os.O_WRONLY),
            "pids": ("", "pids.max", os.O_WRONLY),
            "pids_events": ("", "pids.events", os.O_RDONLY),
        }
        self._v2 = "" in paths
        for key, (controller, name, flags) in (v2 if self._v2 else v1).items():
            with contextlib.suppress(OSError, KeyError):
                self._files[key] = os.open(paths[controller] / name, flags | os.O_CLOEXEC)
        with contextlib.suppress(OSError, KeyError):  # no swapping around the memory limit
            if self._v2:
                (paths[""] / "memory.swap.max").write_text("0")
            else:
                (paths["memory"] / "memory.swappiness").write_text("0")

    def join_fds(self) -> list[int]:
        """Open the files through which a process enters the groups by writing ``0``."""
        flags = os.O_WRONLY | os.O_CLOEXEC
        return [os.open(path / "cgroup.procs", flags) for path in set(self._paths.values())]

    def join_paths(self) -> list[str]:
        """List the files through which a process enters the groups by writing ``0``."""
        return [str(path / "cgroup.procs") for path in set(self._paths.values())]

    @property
    def counts_cpu(self) -> bool:
        """Whether processor time is counted for the whole slot."""
        return "cpu" in self._files

    @property
    def counts_memory(self) -> bool:
        """Whether the memory limit is the kernel's to enforce."""
        return "memory" in self._files

    def begin(self, memory: int, pids: int) -> None:
        """Set the limits of the coming run and remember where its counters start."""
        if self._limits != (memory, pids):
            self._write("memory", memory)
            self._write("pids", pids)
            self._limits = (memory, pids)
        self._write("peak", 0)
        # making a world takes processor time, but meets no limit: the other counters go on
        self._base = (self._cpu_ns(), *self._ended)

    def cpu_s(self) -> float:
        """Return the processor seconds since `begin`."""
        return (self._cpu_ns() - self._base[0]) / 1e9

    def ran_out_of_memory(self) -> bool:
        """Whether a process died of the memory limit since `begin`."""
        return self._oom() > self._base[1]

    def end(self) -> tuple[int, int]:
        """Return how many processes died of the memory limit, and how many forks were refused."""
        kills, forks = self._oom(), self._pids_events()
        found = kills - self._base[1], forks - self._base[2]
        self._ended = kills, forks
        return found

    def peak_bytes(self) -> int | None:
        """Return the highest memory charge since `begin`, None where it is not counted."""
        text = self._read("peak")
        return int(text) if text else None

    def remove(self) -> bool:
        """Remove the groups; return False while something still lives in them."""
        for fd in self._files.values():
            os.close(fd)
        self._files.clear()
        for path in set(self._paths.values()):
            try:
                path.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True

    def _read(self, key: str) -> str:
        fd = self._files.get(key)
        return os.pread(fd, 4096, 0).decode() if fd is not None else ""

    def _write(self, key: str, value: int) -> None:
        fd = self._files.get(key)
        if fd is not None:
            with contextlib.suppress(OSError):  # EBUSY: the slot uses more than that just now
                os.pwrite(fd, str(value).encode(), 0)

    def _cpu_ns(self) -> int:
        text = self._read("cpu")
        if self._v2:
            return _field(text, "usage_usec") * 1000
        return int(text or 0)

    def _oom(self) -> int:
        return _field(self._read("oom"), "oom_kill")

    def _pids_events(self) -> int:
        return _field(self._read("pids_events"), "max")


def sweep(parent: Path) -> None:
    """Remove the groups that a launcher which is gone left behind."""
    for path in parent.glob(f"{_PREFIX}*"):
        found = re.fullmatch(rf"{_PREFIX}(\d+)-\d+", path.name)
        if found and not Path(f"/proc/{found[1]}").exists():
            with contextlib.suppress(OSError):
                path.rmdir()


def _field(text: str, name: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _own() -> dict[str, str]:
    """Map each controller (v2: the empty name) to the path of this process's group."""
    own = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            own[controller] = path
    return own


def _mounts() -> tuple[dict[str, Path], Path | None]:
    """Find this process's own group in each hierarchy."""
    own, v1, v2 = _own(), {}, None
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup2" and "" in own:
            v2 = _place(point, root, own[""])
        elif kind == "cgroup":
            for controller in set(options.split(",")) & set(_CONTROLLERS) & set(own):
                v1[controller] = _place(point, root, own[controller])
    return v1, v2


def _place(point: str, root: str, path: str) -> Path:
    """Translate a group's path to a directory below the mount; the mount itself if outside."""
    below = os.path.relpath(path, root)
    place = Path(point) if below.startswith("..") else Path(point) / below
    return place if place.is_dir() else Path(point)


def _ancestors(path: Path) -> Iterator[Path]:
    while (path / "cgroup.controllers").exists():
        yield path
        path = path.parent


def _delegated(own: Path | None) -> Path | None:
    """Find the nearest group that may have children with memory and pids control."""
    for path in _ancestors(own) if own is not None else ():
        control = path / "cgroup.subtree_control"
        if not (os.access(path, os.W_OK) and os.access(control, os.W_OK)):
            continue
        for name in ("memory", "pids", "cpu"):
            with contextlib.suppress(OSError):
                control.write_text(f"+{name}")
        if {"memory", "pids"} <= set(control.read_text().split()):
            return path
    return None
