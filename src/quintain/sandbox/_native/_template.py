"""The read-only root that all worlds of a pool share; launcher side.

Built once, on a small tmpfs in a mount namespace of the launcher's own, from the host: the
interpreter's prefixes, ``/usr`` and what links to it, a made-up ``/etc`` and a few devices.
Nothing else of the host is in it. A virtual environment appears as ``/venv``, wherever it lies.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from quintain.sandbox._native import _sys

__all__ = ["Interpreter", "build"]

_DEVICES = ("null", "zero", "full", "random", "urandom")
_MOUNTPOINTS = ("/mnt", "/media", "/srv", "/run", "/var", "/tmp")  # noqa: S108 a mountpoint
_ETC = {
    "passwd": "root:x:0:0:root:/tmp:/bin/sh\nworld:x:1000:1000:world:/tmp:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "group": "root:x:0:\nworld:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "resolv.conf": "",
    "hostname": "world\n",
}
_ETC_FROM_HOST = ("ld.so.cache", "alternatives", "java*")
"""Copied: every mount of the template is one more to copy for each world."""
_MAX_SETTING = 1 << 20


class Interpreter:
    """Where the caller's Python lives, and where worlds will find it."""

    def __init__(self, executable: str, prefix: str, base_prefix: str) -> None:
        self.prefix, self.base_prefix = prefix, base_prefix
        self.virtual = prefix != base_prefix
        inside = Path(executable).name
        self.executable = f"/venv/bin/{inside}" if self.virtual else executable

    @property
    def path(self) -> str:
        """The value of PATH inside a world."""
        first = ["/venv/bin"] if self.virtual else []
        return ":".join([*first, f"{self.base_prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin"])

    def binds(self) -> list[tuple[str, str]]:
        """List (source, target) of the directories that the interpreter needs."""
        pairs = [(self.prefix, "/venv")] if self.virtual else []
        places = dict.fromkeys((self.base_prefix, os.path.realpath(self.base_prefix)))
        inside_usr = ("/usr", "/usr/local")
        return pairs + [(p, p) for p in places if p not in inside_usr and "/usr/" not in p[:5]]


def build(
    interpreter: Interpreter,
    layers: list[tuple[str, str]],
    hidden: list[str],
    *,
    read_only: bool,
) -> str:
    """Mount the template in this process's own mount namespace and return where.

    ``layers`` are pairs of a path on the host and its place in the world, laid over the rest;
    ``hidden`` are directories of the host that worlds must find empty.
    """
    pairs = [*interpreter.binds(), ("/usr", "/usr")]
    pairs += [
        (place, place)
        for place in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
        if Path(place).is_dir() and not Path(place).is_symlink()
    ]
    links = [(source, target) for source, target in layers if Path(source).is_symlink()]
    pairs += [pair for pair in layers if pair not in links]
    detached = [(target, _sys.open_tree(source), Path(source).is_dir()) for source, target in pairs]
    remade = [(target, str(Path(source).readlink())) for source, target in links]
    devices = {name: _sys.open_tree(f"/dev/{name}") for name in _DEVICES}
    covers = [_inside(path, pairs) for path in hidden]
    root = _free_mountpoint([source for source, _ in pairs])
    _sys.mount("quintain", root, "tmpfs", _sys.MS_NOSUID, "size=16m,mode=755")
    _skeleton(root)
    for target, fd, is_directory in detached:
        _attach(root + target, fd, is_directory=is_directory)
    for place, target in remade:
        Path(root + place).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        Path(root + place).symlink_to(target)
    _copy_settings(root)
    _make_devices(root, devices)
    for target in filter(None, covers):
        _sys.mount("hidden", root + target, "tmpfs", _sys.MS_NOSUID, "size=4k,mode=555")
    attributes = _sys.MOUNT_ATTR_RDONLY if read_only else 0
    _sys.mount_setattr(root, attributes | _sys.MOUNT_ATTR_NOSUID)
    return root


def _copy_settings(root: str) -> None:
    for pattern in _ETC_FROM_HOST:
        for source in Path("/etc").glob(pattern):
            for path in [source, *(source.rglob("*") if source.is_dir() else [])]:
                with contextlib.suppress(OSError):  # a setting that we may not read is not needed
                    _copy(path, Path(root + str(path)))


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir(mode=0o755)
    elif source.is_file() and source.stat().st_size <= _MAX_SETTING:
        target.write_bytes(source.read_bytes())


def _make_devices(root: str, devices: dict[str, int]) -> None:
    """Make the devices, or where that takes more privilege than we have, bind the host's."""
    for name, fd in devices.items():
        status = Path(f"/dev/{name}").stat()
        target = f"{root}/dev/{name}"
        try:
            os.mknod(target, stat.S_IFCHR | 0o666, status.st_rdev)
            Path(target).chmod(0o666)
            os.close(fd)
        except PermissionError:
            _attach(target, fd, is_directory=False)


def _free_mountpoint(sources: list[str]) -> str:
    """Choose a directory to mount on that covers nothing which this process still needs."""
    for place in _MOUNTPOINTS:
        if Path(place).is_dir() and not any(path.startswith(f"{place}/") for path in sources):
            return place
    raise OSError("no directory to build the template on")


def _inside(path: str, pairs: list[tuple[str, str]]) -> str:
    """Translate a host path to its place in the world; empty when it is not there."""
    for source, target in pairs:
        if path.startswith(f"{source}/"):
            return target + path[len(source) :]
    return ""


def _skeleton(root: str) -> None:
    for name in ("proc", "dev", "box", "work", "etc", "run", "var", "sys"):
        Path(f"{root}/{name}").mkdir(mode=0o755)
    links = {"tmp": "/box/tmp", "var/tmp": "/box/tmp", "dev/shm": "/box/shm"}
    links |= {"dev/fd": "/proc/self/fd", "dev/stdin": "/proc/self/fd/0"}
    links |= {"dev/stdout": "/proc/self/fd/1", "dev/stderr": "/proc/self/fd/2"}
    for place in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if Path(f"/{place}").is_symlink():
            links[place] = str(Path(f"/{place}").readlink())
    for name, target in links.items():
        Path(f"{root}/{name}").symlink_to(target)
    for name, text in _ETC.items():
        Path(f"{root}/etc/{name}").write_text(text)


def _attach(target: str, fd: int, *, is_directory: bool) -> None:
    path = Path(target)
    if is_directory:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif not path.exists():
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.touch(mode=stat.S_IRUSR)
    _sys.move_mount(fd, target)
    os.close(fd)
