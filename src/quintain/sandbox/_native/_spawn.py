"""Execute the main zygote inside the template world; launcher side."""

from __future__ import annotations

import fcntl
import marshal
import os
import signal
import socket
from pathlib import Path

from quintain.sandbox._native import _sys
from quintain.sandbox._native._template import Interpreter

__all__ = ["MainZygote", "base_environment", "spawn"]

_HANDED_OVER = (
    "_sys",
    "_seccomp",
    "_landlock",
    "_files",
    "_slot",
    "_world",
    "_session",
    "_zygote",
)
"""Modules of the world's side, each after those that it imports."""
_SPACES = (
    _sys.CLONE_NEWUSER
    | _sys.CLONE_NEWNS
    | _sys.CLONE_NEWPID
    | _sys.CLONE_NEWIPC
    | _sys.CLONE_NEWUTS
    | _sys.CLONE_NEWNET
)

_BOOT = """\
import marshal, os, sys
def load():
    package = "quintain.sandbox._native"
    for name in ("quintain", "quintain.sandbox", package):
        sys.modules[name] = type(sys)(name)
        sys.modules[name].__path__ = []
    sources = marshal.loads(os.read(4, os.fstat(4).st_size))
    os.close(4)
    for name, source in sources.items():
        module = type(sys)(f"{package}.{name}")
        sys.modules[module.__name__] = module
        setattr(sys.modules[package], name, module)
        exec(compile(source, f"<{name}>", "exec"), module.__dict__)
    found = {name: sys.modules.pop(name) for name in list(sys.modules) if "quintain" in name}
    return found[package + "._zygote"], found[package + "._world"]
zygote, world = load()
world.run(zygote.main(3))
"""


class MainZygote:
    """The launcher's hold on the main zygote."""

    def __init__(self, pid: int, control: socket.socket, errors: int) -> None:
        self.pid, self.control, self._errors = pid, control, errors

    def complaint(self) -> str:
        """Return what it wrote to stderr so far, shortened."""
        try:
            return os.read(self._errors, 4096).decode("utf-8", "replace").strip()[-1500:]
        except BlockingIOError:
            return ""

    def kill(self) -> None:
        """End it, and with it every process of every slot; wait until they are gone."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.control.close()
        os.close(self._errors)


def base_environment(interpreter: Interpreter) -> dict[str, str]:
    """Return the fixed environment of every world."""
    return {
        "PATH": interpreter.path,
        "HOME": "/tmp",  # noqa: S108  the world's own
        "USER": "world",
        "LOGNAME": "world",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def spawn(
    root: str,
    interpreter: Interpreter,
    ids: tuple[str, bool],
    environment: dict[str, str],
    *,
    share_net: bool = False,
) -> MainZygote:
    """Start the main zygote; ``ids`` is the text of its id maps and whether to deny setgroups."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stdin, nothing = os.pipe()
    os.close(nothing)
    errors, stderr = os.pipe()
    mapped, tell = os.pipe()
    source = _sys.memfd("zygote", marshal.dumps(_sources()))
    pid = _sys.clone3(_SPACES & ~_sys.CLONE_NEWNET if share_net else _SPACES)
    if pid == 0:
        fds = [stdin, stderr, stderr, theirs.fileno(), source]
        _become_zygote(root, interpreter, environment, mapped, fds)
    text, deny = ids
    if deny:
        Path(f"/proc/{pid}/setgroups").write_text("deny")
    Path(f"/proc/{pid}/uid_map").write_text(text)
    Path(f"/proc/{pid}/gid_map").write_text(text)
    os.write(tell, b"1")
    for fd in (stdin, stderr, mapped, tell, source):
        os.close(fd)
    theirs.close()
    os.set_blocking(errors, False)
    return MainZygote(pid, ours, errors)


def _sources() -> dict[str, str]:
    here = Path(__file__).parent
    return {name: (here / f"{name}.py").read_text() for name in _HANDED_OVER}


def _become_zygote(
    root: str, interpreter: Interpreter, environment: dict[str, str], mapped: int, fds: list[int]
) -> None:
    """In the new namespaces: swap the root, arrange descriptors, execute the interpreter."""
    try:
        os.read(mapped, 1)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        _swap_root(root)
        # above all targets first, so that no target overwrites a source
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in fds]
        for target, fd in enumerate(high):
            os.dup2(fd, target, inheritable=True)
        _sys.close_range(len(fds))
        argv = [interpreter.executable, "-s", "-c", _BOOT]
        os.execve(argv[0], argv, environment)  # noqa: S606
    except BaseException as error:  # noqa: BLE001  nobody else could tell
        os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(1)


def _swap_root(root: str) -> None:
    _sys.mount(None, "/", None, _sys.MS_REC | _sys.MS_PRIVATE)
    # mounts that came from the parent are locked together; a bind on itself is not
    _sys.mount(root, root, None, _sys.MS_BIND | _sys.MS_REC)
    # while the old one can be seen, or the kernel refuses
    _sys.mount("proc", f"{root}/proc", "proc", _sys.MS_NOSUID | _sys.MS_NODEV | _sys.MS_NOEXEC)
    os.chdir(root)
    _sys.pivot_root(".", ".")
    _sys.umount(".", _sys.MNT_DETACH)
    os.chdir("/")
