"""Attacks on the kernel's interface: new privileges, rare system calls, other ABIs."""

from __future__ import annotations

from quintain.testing._attacks._attack import Attack, attack

__all__ = ["KERNEL_ATTACKS"]

# Numbers of system calls that every architecture shares, or (x86_64, aarch64).
_NUMBERS = """
import platform
_X86 = platform.machine() == "x86_64"
def nr(x86, arm): return x86 if _X86 else arm
"""

KERNEL_ATTACKS: tuple[Attack, ...] = (
    attack(
        43,
        "no_nested_user_namespace",
        _NUMBERS
        + """
spaces = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000,
          "uts": 0x4000000, "ipc": 0x8000000, "cgroup": 0x2000000, "time": 0x80}
walls = {f"unshare_{name}": call(nr(272, 97), flag) < 0 for name, flag in spaces.items()}
result = call(nr(56, 220), 0x10000000 | 17, 0, 0, 0, 0)
if result == 0: os._exit(0)
args = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17)
third = call(435, args, 64)
if third == 0: os._exit(0)
own = os.open("/proc/self/ns/net", os.O_RDONLY)
held(**walls, clone=result < 0, clone3=third < 0, setns=call(nr(308, 268), own, 0) < 0)
""",
    ),
    attack(
        44,
        "no_mounting",
        _NUMBERS
        + """
held(mount=_libc.mount(b"x", b"/tmp", b"tmpfs", 0, None) < 0,
     bind=_libc.mount(b"/etc", b"/tmp", None, 4096, None) < 0,
     remount=_libc.mount(None, b"/", None, 4096 | 32, None) < 0,
     umount=_libc.umount2(b"/proc", 2) < 0, chroot=refused(os.chroot, "/tmp"),
     pivot=call(nr(155, 41), b"/tmp", b"/tmp") < 0, fsopen=call(430, b"tmpfs", 0) < 0,
     open_tree=call(428, -100, b"/", 1) < 0, move_mount=call(429, 0, b"", 0, b"", 4) < 0,
     mount_setattr=call(442, -100, b"/", 0, (ctypes.c_uint64 * 4)(), 32) < 0)
""",
    ),
    attack(
        45,
        "set_user_id_programs_gain_nothing",
        """
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines()
              if ":\\t" in line)
empty = "0" * 16
held(no_new_privs=status["NoNewPrivs"] == "1", effective=status["CapEff"] == empty,
     permitted=status["CapPrm"] == empty, bounding=status["CapBnd"] == empty,
     ambient=status["CapAmb"] == empty, nosuid=os.statvfs("/usr").f_flag & os.ST_NOSUID,
     setuid=refused(os.setuid, 0), setgroups=refused(os.setgroups, [0]), not_root=os.getuid() > 0)
""",
    ),
    attack(
        46,
        "other_processes_cannot_be_traced",
        _NUMBERS
        + """
import time
child = os.fork()
if child == 0: time.sleep(60)
word = ctypes.create_string_buffer(8)
span = (ctypes.c_uint64 * 2)(ctypes.addressof(word), 8)
held(init=call(nr(101, 117), 16, 1, 0, 0) < 0, child=call(nr(101, 117), 16, child, 0, 0) < 0,
     write=call(nr(311, 271), child, span, 1, span, 1, 0) < 0,
     read=call(nr(310, 270), child, span, 1, span, 1, 0) < 0,
     getfd=call(438, os.pidfd_open(child), 1, 0) < 0)
os.kill(child, 9)
""",
    ),
    attack(
        47,
        "rare_system_calls_are_closed",
        _NUMBERS
        + """
zeros = (ctypes.c_char * 256)()
held(bpf=call(nr(321, 280), 0, zeros, 72) < 0, perf=call(nr(298, 241), zeros, 0, -1, -1, 0) < 0,
     userfaultfd=call(nr(323, 282), 1) < 0, io_uring=call(425, 8, zeros) < 0,
     kexec=call(nr(246, 104), 0, 0, 0, 0) < 0, module=call(nr(175, 105), zeros, 0, b"") < 0,
     finit=call(nr(313, 273), 0, b"", 0) < 0, reboot=call(nr(169, 142), 0, 0, 0, 0) < 0,
     swapon=call(nr(167, 224), b"/tmp/x", 0) < 0, syslog=call(nr(103, 116), 3, zeros, 256) < 0,
     handle=call(nr(304, 265), -100, zeros, 0) < 0, kcmp=call(nr(312, 272), 1, 1, 0, 0, 0) < 0,
     personality=call(nr(135, 92), 0x0040000) < 0, acct=call(nr(163, 89), 0) < 0,
     fanotify=call(nr(300, 262), 0, 0) < 0, quotactl=call(nr(179, 60), 0, 0, 0, 0) < 0)
""",
    ),
    attack(
        48,
        "keys_and_rare_sockets_are_closed",
        _NUMBERS
        + """
import fcntl, socket
families = {"vsock": 40, "packet": 17, "alg": 38, "bluetooth": 31, "can": 29, "rds": 21,
            "tipc": 30, "xdp": 44, "key": 15}
walls = {name: refused(socket.socket, family, socket.SOCK_DGRAM)
         for name, family in families.items()}
with open(sys.executable, "rb") as shared:
    walls["lease"] = refused(fcntl.fcntl, shared, fcntl.F_SETLEASE, fcntl.F_RDLCK)
held(**walls, keyctl=call(nr(250, 219), 0, -3, 1) < 0,
     add_key=call(nr(248, 217), b"user", b"k", b"v", 1, -3) < 0,
     request_key=call(nr(249, 218), b"user", b"k", 0, 0) < 0)
""",
    ),
    attack(
        49,
        "another_abi_kills",
        _NUMBERS
        + """
import mmap, signal
def dies(action):
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
walls = {"int80": dies(ctypes.CFUNCTYPE(ctypes.c_int)(start)),
         "x32": dies(lambda: call(0x40000000 | 39))} if _X86 else {}
held(**walls)
""",
    ),
    attack(
        50,
        "no_terminal_to_type_into",
        """
import fcntl
held(tty=refused(open, "/dev/tty", "r+b"), console=refused(open, "/dev/console", "wb"),
     tiocsti=refused(fcntl.ioctl, 0, 0x5412, b"x"), ptmx=refused(open, "/dev/ptmx", "r+b"))
""",
    ),
    attack(
        51,
        "clock_and_host_name_stay",
        """
import socket, time
held(clock=refused(time.clock_settime, time.CLOCK_REALTIME, 0.0),
     host=refused(socket.sethostname, "x"))
""",
    ),
    attack(
        52,
        "no_higher_priority",
        """
held(realtime=refused(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)),
     nice=refused(os.setpriority, os.PRIO_PROCESS, 0, -5))
""",
    ),
    attack(
        53,
        "no_devices",
        """
paths = ("/dev/mem", "/dev/kvm", "/dev/kmsg", "/dev/fuse", "/dev/net/tun", "/dev/vda",
         "/dev/sda", "/dev/nvidia0", "/dev/loop0", "/dev/userfaultfd")
held(**{path[5:].replace("/", "_"): not os.path.exists(path) for path in paths},
     mknod=refused(os.mknod, "/tmp/mem", 0o20666, os.makedev(1, 1)),
     block=refused(os.mknod, "/tmp/vda", 0o60666, os.makedev(254, 0)))
""",
    ),
)
