"""The list of denied system calls, as two BPF programs; standard library only.

A denylist, because general programs run here; it closes what namespaces leave open. `base` is
loaded by the zygote and inherited for free; `final` holds what the zygote itself still needs
and each run must lose. Only the native ABI is left: a call through another one kills.

It does not stop kernel bugs in the calls that remain.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

__all__ = ["BASE", "FINAL", "UNCOUNTED", "Filter", "build"]

_LIBC = ctypes.PyDLL(None, use_errno=True)

# name: (x86_64, aarch64); None where the architecture lacks the call
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "afs_syscall": (183, None),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "mbind": (237, 235),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "personality": (135, 92),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}

FINAL: tuple[str, ...] = (
    "clone",
    "clone3",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "ioctl",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "pivot_root",
    "setns",
    "socket",
    "umount2",
    "unshare",
)
"""What a zygote needs to make worlds; clone, ioctl and socket stay allowed in part."""

UNCOUNTED: tuple[str, ...] = ("memfd_create", "memfd_secret", "shmget")
"""Ways to hold memory that belongs to no process; denied where no control group counts it."""

BASE: tuple[str, ...] = tuple(name for name in _NUMBERS if name not in (*FINAL, *UNCOUNTED))
"""What neither needs."""

# glibc falls back to clone when clone3 is missing, and to epoll when io_uring is
_MISSING = {"clone3", "io_uring_enter", "io_uring_register", "io_uring_setup"}

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_LD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_AND = 0x54
_NR, _ARCH, _ARG0, _ARG1, _ARG2 = 0, 4, 16, 24, 32
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

_NAMESPACES = 0x7E020080  # all CLONE_NEW* flags, CLONE_NEWTIME included
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_NETLINK, _SOCK_RAW, _SOCK_TYPES = 16, 3, 0xF
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C


def _op(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jt, jf, k)


def _deny(name: str) -> bytes:
    number = errno.ENOSYS if name in _MISSING else errno.EPERM
    return _op(_RET, _ERRNO | number)


def _checks(name: str) -> bytes:
    """Return the instructions that decide a call, entered when its number matched."""
    if name == "clone":
        return _op(_LD, _ARG0) + _op(_JSET, _NAMESPACES, 0, 1) + _deny(name) + _op(_RET, _ALLOW)
    if name == "ioctl":
        tests = _op(_JEQ, _TIOCSTI, 1, 0) + _op(_JEQ, _TIOCLINUX, 0, 1)
        return _op(_LD, _ARG1) + tests + _deny(name) + _op(_RET, _ALLOW)
    if name == "socket":
        return _socket_checks()
    return _deny(name)


def _socket_checks() -> bytes:
    """Allow UNIX and IP sockets that are not raw, and route netlink, which getaddrinfo asks."""
    code = _op(_LD, _ARG0)
    for index, family in enumerate(_FAMILIES):
        code += _op(_JEQ, family, len(_FAMILIES) - index + 3, 0)
    code += _op(_JEQ, _NETLINK, 0, 2) + _op(_LD, _ARG2) + _op(_JEQ, 0, 5, 0)
    code += _op(_RET, _ERRNO | errno.EAFNOSUPPORT)
    # the kernel refuses raw sockets without CAP_NET_RAW; this is the second wall
    code += _op(_LD, _ARG1) + _op(_AND, _SOCK_TYPES) + _op(_JEQ, _SOCK_RAW, 0, 1)
    return code + _op(_RET, _ERRNO | errno.EPERM) + _op(_RET, _ALLOW)


def build(names: tuple[str, ...], machine: str | None = None) -> bytes:
    """Return the BPF program that denies the named calls on this architecture."""
    machine = machine or os.uname().machine
    column = 0 if machine == "x86_64" else 1
    code = _op(_LD, _ARCH) + _op(_JEQ, _AUDIT_ARCH[machine], 1, 0) + _op(_RET, _KILL)
    code += _op(_LD, _NR)
    if machine == "x86_64":
        code += _op(_JGE, _X32_BIT, 0, 1) + _op(_RET, _KILL)
    for name in names:
        number = _NUMBERS[name][column]
        if number is not None:
            body = _checks(name)
            code += _op(_JEQ, number, 0, len(body) // 8) + body
    return code + _op(_RET, _ALLOW)


class Filter:
    """A program, ready to be loaded."""

    def __init__(self, program: bytes) -> None:
        self._code = ctypes.create_string_buffer(program, len(program))
        address = ctypes.addressof(self._code)
        self._fprog = struct.pack("=HxxxxxxQ", len(program) // 8, address)

    def load(self) -> None:
        """Put this thread, and all it will start, behind it; needs no_new_privs."""
        # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        if _LIBC.prctl(22, ctypes.c_ulong(2), self._fprog, 0, 0) < 0:
            raise OSError(ctypes.get_errno(), "seccomp filter refused")
