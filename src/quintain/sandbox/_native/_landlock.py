"""Landlock as a second wall: no writing outside the run's own directories; no TCP.

Standard library only. It guards against a mistake in the mount table, and adds nothing where
the kernel lacks it.
"""

from __future__ import annotations

import os
import struct

from quintain.sandbox._native import _sys

__all__ = ["abi", "restrict"]

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_WRITE_FILE = 1 << 1
_WRITES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""Writing, removing and making of every kind of file."""
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_TCP = 0b11
_SCOPE_ABSTRACT_UNIX, _SCOPE_SIGNAL = 1, 2


def abi() -> int:
    """Return the kernel's Landlock version, 0 where it has none."""
    try:
        return _sys.syscall(_CREATE, None, 0, 1)
    except OSError:
        return 0


def _handled(version: int) -> int:
    return _WRITES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)


def restrict(
    version: int, places: tuple[tuple[str, ...], tuple[str, ...]], *, tcp: bool, alone: bool
) -> None:
    """Let this process, and all it starts, write to the given places alone.

    ``places`` are directories and single files. With ``alone`` it can neither signal what it did
    not start nor speak to it through abstract sockets.
    """
    handled = _handled(version)
    net = 0 if tcp or version < 4 else _TCP
    scoped = _SCOPE_ABSTRACT_UNIX | _SCOPE_SIGNAL if alone and version >= 6 else 0
    attr = struct.pack("=QQQ", handled, net, scoped)[: 24 if version >= 6 else 16]
    if version < 4:
        attr = attr[:8]
    ruleset = _sys.syscall(_CREATE, attr, len(attr), 0, what="landlock ruleset")
    single = handled & (_WRITE_FILE | _TRUNCATE)
    for rights, paths in zip((handled, single), places, strict=True):
        for path in paths:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("=Qi", rights, fd)
            _sys.syscall(_ADD_RULE, ruleset, 1, rule, 0, what=f"landlock rule {path}")
            os.close(fd)
    _sys.syscall(_RESTRICT, ruleset, 0, what="landlock restrict")
    os.close(ruleset)
