"""System calls that Python lacks, through ctypes; standard library only.

Invariant: every function raises `OSError` when the kernel refuses. Calls go through `PyDLL`,
which keeps the interpreter lock: a process that makes them has one thread.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps; no stubs
import ctypes
import os
import struct

__all__ = [
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "MNT_DETACH",
    "MOUNT_ATTR_NODEV",
    "MOUNT_ATTR_NOEXEC",
    "MOUNT_ATTR_NOSUID",
    "MOUNT_ATTR_RDONLY",
    "MS_BIND",
    "MS_NODEV",
    "MS_NOEXEC",
    "MS_NOSUID",
    "MS_PRIVATE",
    "MS_RDONLY",
    "MS_REC",
    "MS_REMOUNT",
    "bounding_set_drop",
    "clone3",
    "close_range",
    "drop_capabilities",
    "fsmount_tmpfs",
    "loopback_up",
    "memfd",
    "mount",
    "mount_setattr",
    "move_mount",
    "no_new_privs",
    "open_tree",
    "openat2_beneath",
    "pivot_root",
    "prctl",
    "set_dumpable",
    "set_pdeathsig",
    "setns",
    "syscall",
    "tiny_init",
    "umount",
    "unshare",
]

_LIBC = ctypes.PyDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

CLONE_VM = 0x00000100
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 1, 2, 4, 8

_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT = 428, 429, 430, 431, 432
_CLONE3, _CLOSE_RANGE, _OPENAT2, _MOUNT_SETATTR = 435, 436, 437, 442

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECUREBITS = 1, 4, 28
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 24, 38, 47
_LAST_CAP = 63
_CAP_V3 = 0x20080522


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *args: int | bytes | None, what: str = "syscall") -> int:
    """Make a raw system call; integers are passed as longs, bytes as pointers."""
    converted = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in args]
    return _check(_LIBC.syscall(ctypes.c_long(number), *converted), what)


def prctl(option: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
    """Ask for one of the things that prctl does."""
    args = [ctypes.c_ulong(value) for value in (a, b, c, d)]
    return _check(_LIBC.prctl(ctypes.c_int(option), *args), f"prctl {option}")


def unshare(flags: int) -> None:
    """Leave the given namespaces for new ones."""
    _check(_LIBC.unshare(ctypes.c_int(flags)), f"unshare {flags:#x}")


def setns(fd: int, kind: int) -> None:
    """Enter the namespace that ``fd`` (or the process behind a pidfd) stands for."""
    _check(_LIBC.setns(ctypes.c_int(fd), ctypes.c_int(kind)), "setns")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount, bind or remount, as the classic system call does."""
    result = _LIBC.mount(
        source.encode() if source is not None else None,
        target.encode(),
        kind.encode() if kind is not None else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    _check(result, f"mount {target}")


def umount(target: str, flags: int = 0) -> None:
    """Detach a mount."""
    _check(_LIBC.umount2(target.encode(), ctypes.c_int(flags)), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """Swap the root mount."""
    syscall(_PIVOT_ROOT, new.encode(), old.encode(), what="pivot_root")


def open_tree(path: str) -> int:
    """Return a detached copy of the mounts at ``path``, submounts included, as a descriptor."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE
    return syscall(_OPEN_TREE, _AT_FDCWD, path.encode(), flags, what=f"open_tree {path}")


def move_mount(fd: int, target: str) -> None:
    """Attach a detached mount at ``target``."""
    # MOVE_MOUNT_F_EMPTY_PATH
    syscall(_MOVE_MOUNT, fd, b"", _AT_FDCWD, target.encode(), 4, what=f"move_mount {target}")


def mount_setattr(path: str, attributes: int) -> None:
    """Set attributes on the mount at ``path`` and on all mounts below it."""
    attr = struct.pack("=QQQQ", attributes, 0, 0, 0)
    args = (_AT_FDCWD, path.encode(), _AT_RECURSIVE, attr, len(attr))
    syscall(_MOUNT_SETATTR, *args, what=f"mount_setattr {path}")


def fsmount_tmpfs(options: dict[str, str]) -> int:
    """Make a detached tmpfs, nosuid and nodev, and return it as a descriptor."""
    context = syscall(_FSOPEN, b"tmpfs", 1, what="fsopen")
    try:
        for key, value in options.items():
            # FSCONFIG_SET_STRING
            syscall(_FSCONFIG, context, 1, key.encode(), value.encode(), 0, what=f"tmpfs {key}")
        syscall(_FSCONFIG, context, 6, None, None, 0, what="fsconfig")  # FSCONFIG_CMD_CREATE
        return syscall(_FSMOUNT, context, 1, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, what="fsmount")
    finally:
        os.close(context)


def clone3(flags: int) -> int:
    """Fork into new namespaces and return 0 in the child.

    The C library does not notice: the child must execute another program soon.
    """
    args = struct.pack("=11Q", flags, 0, 0, 0, _signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    return syscall(_CLONE3, args, len(args), what=f"clone3 {flags:#x}")


_STACK = ctypes.create_string_buffer(16384)


def tiny_init() -> int:
    """Start the init of a new pid namespace and return its pid.

    It shares this process's memory and does nothing but sleep in pause(2); with SIGCHLD ignored
    the kernel reaps its orphans. A Python image forked for the purpose would cost a millisecond.
    """
    top = (ctypes.addressof(_STACK) + len(_STACK)) & ~63
    pause = ctypes.cast(_LIBC.pause, ctypes.c_void_p)
    flags = CLONE_VM | CLONE_NEWPID | _signal.SIGCHLD
    # the plain functions: those of `signal` turn everything into enumerations and back
    previous = _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    try:
        pid: int = _LIBC.clone(pause, ctypes.c_void_p(top), ctypes.c_int(flags), None)
        return _check(pid, "clone init")
    finally:
        _signal.signal(_signal.SIGCHLD, previous)


def close_range(first: int, last: int = 0xFFFFFFFF) -> None:
    """Close all descriptors from ``first`` to ``last``."""
    if first <= last:
        syscall(_CLOSE_RANGE, first, last, 0, what="close_range")


def memfd(name: str, content: bytes = b"") -> int:
    """Return an anonymous file, closed on exec, with the given content and rewound."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def openat2_beneath(directory: int, path: str) -> int:
    """Open a file for reading that lies below ``directory``, through no link of any kind."""
    # RESOLVE_NO_XDEV | NO_MAGICLINKS | NO_SYMLINKS | BENEATH
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    how = struct.pack("=QQQ", flags, 0, 0x01 | 0x02 | 0x04 | 0x08)
    raw = path.encode("utf-8", "surrogateescape")
    return syscall(_OPENAT2, directory, raw, how, len(how), what=f"openat2 {path}")


def set_pdeathsig(number: int) -> None:
    """Ask for a signal when the parent dies; changing ids clears it."""
    prctl(_PR_SET_PDEATHSIG, number)


def set_dumpable(on: bool) -> None:
    """Decide whether equals may look into this process."""
    prctl(_PR_SET_DUMPABLE, int(on))


def no_new_privs() -> None:
    """Give up gaining privileges by executing programs, for ever."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _capset(effective: int, permitted: int, inheritable: int) -> None:
    header = struct.pack("=Ii", _CAP_V3, 0)
    data = b"".join(
        struct.pack("=III", *((value >> shift) & 0xFFFFFFFF for value in triple))
        for shift in (0, 32)
        for triple in ((effective, permitted, inheritable),)
    )
    _check(_LIBC.capset(header, data), "capset")


def drop_capabilities(*, bounding: bool) -> None:
    """Lose every capability, those of the bounding set too unless that is empty already."""
    if bounding:
        bounding_set_drop()
    _check(_LIBC.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0), "clear ambient capabilities")
    _capset(0, 0, 0)


def bounding_set_drop() -> None:
    """Empty the bounding set: no executed file can bring a capability back."""
    for capability in range(_LAST_CAP + 1):
        if _LIBC.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break


def loopback_up() -> None:
    """Bring up the loopback device of this net namespace."""
    import _socket
    import fcntl

    control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    # SIOCSIFFLAGS with IFF_UP | IFF_RUNNING
    fcntl.ioctl(control.fileno(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))
    control.close()
