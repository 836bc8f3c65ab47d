"""The command line that makes bubblewrap raise the same walls as the native backend."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import quintain
from quintain.sandbox._native._spawn import base_environment
from quintain.sandbox._native._template import Interpreter

__all__ = ["bwrap_argv", "world_environment"]

_TMP = "/tmp"  # noqa: S108  the world's own
_HIDDEN = Path(quintain.__file__).resolve().parent


def _interpreter() -> Interpreter:
    return Interpreter(sys.executable, sys.prefix, sys.base_prefix)


def world_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a world, the same for every backend."""
    return {**base_environment(_interpreter()), **extra}


def bwrap_argv(work: str, *, seccomp_fd: int, size_mib: int) -> list[str]:
    """Return the arguments up to the command; ``work`` is the host directory behind ``/work``."""
    argv = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    argv += ["--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--hostname", "world"]
    binds = [*_interpreter().binds(), ("/usr", "/usr")]
    for place in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if Path(place).is_symlink():
            argv += ["--symlink", str(Path(place).readlink()), place]
        elif Path(place).is_dir():
            binds.append((place, place))
    binds += [(place, place) for place in ("/etc/alternatives", "/etc/ld.so.cache")]
    for source, target in binds:
        argv += ["--ro-bind-try", source, target]
        if str(_HIDDEN).startswith(f"{source}/"):
            argv += ["--tmpfs", target + str(_HIDDEN)[len(source) :]]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    argv += ["--size", str(size_mib << 20), "--tmpfs", _TMP]
    argv += ["--symlink", _TMP, f"/var{_TMP}", "--bind", work, "/work", "--chdir", "/work"]
    argv += ["--remount-ro", "/", "--seccomp", str(seccomp_fd)]
    return argv
