"""Attacks on files: reading what is not the program's, leaving links for those who collect."""

from __future__ import annotations

from quintain.testing._attacks._attack import Attack, attack

__all__ = ["FILE_ATTACKS"]

FILE_ATTACKS: tuple[Attack, ...] = (
    attack(
        30,
        "secrets_of_the_host_are_not_there",
        """
places = ("/etc/shadow", "/root/.ssh", "/home", "/etc/ssh", "/var/lib", "/var/log",
          "/boot", "/sys/kernel", "/.dockerenv", "@CANARY@")
held(**{place.strip("/").replace("/", "_"): not os.path.exists(place) for place in places})
""",
    ),
    attack(
        31,
        "tests_and_siblings_are_not_there",
        """
try:
    import quintain
except ImportError:
    hidden = True
else:
    hidden = not hasattr(quintain, "__version__")
held(package=hidden, work=os.listdir("/work") == ["main.py"], tmp=os.listdir("/tmp") == [])
""",
    ),
    attack(
        32,
        "an_output_that_is_a_link",
        "os.symlink('/etc/passwd', 'out'); os.symlink('main.py', 'near'); held()",
        refused=("out", "near"),
    ),
    attack(
        33,
        "a_hard_link_to_a_file_of_the_host",
        "held(link=refused(os.link, '/etc/passwd', 'p') and refused(os.link, sys.executable, 'q'))",
        refused=("p", "q"),
    ),
    attack(
        34,
        "an_output_that_is_no_file",
        """
import socket
os.mkfifo("pipe"); os.mkdir("directory")
socket.socket(socket.AF_UNIX).bind("socket")
held(device=refused(os.mknod, "device", 0o20666, os.makedev(1, 5)))
""",
        refused=("pipe", "directory", "socket", "device"),
    ),
    attack(
        36,
        "a_directory_swapped_for_a_link",
        """
os.mkdir("d"); open("d/passwd", "w").close()
os.rename("d", "e"); os.symlink("/etc", "d")
os.symlink("/proc/self/root", "r")
held()
""",
        refused=("d/passwd", "r/etc/passwd"),
    ),
    attack(
        37,
        "programs_of_the_host_cannot_be_changed",
        """
real = os.path.realpath(sys.executable)
places = {"python": real, "shell": "/bin/sh", "library": os.__file__, "passwd": "/etc/passwd"}
held(**{name: refused(open, place, "r+b") for name, place in places.items()},
     root=refused(open, "/x", "wb"), etc=refused(open, "/etc/x", "wb"),
     venv=refused(open, os.path.dirname(sys.executable) + "/x", "wb"))
""",
    ),
    attack(
        38,
        "kernel_settings_cannot_be_written",
        """
places = ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname",
          "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/proc/1/oom_score_adj")
held(**{place.strip("/").replace("/", "_"): refused(open, place, "w") for place in places})
""",
    ),
    attack(
        39,
        "control_groups_cannot_be_mounted",
        """
tries = [_libc.mount(b"x", b"/tmp", kind, 0, data) for kind, data in
         ((b"cgroup", b"memory"), (b"cgroup2", None), (b"cgroup", b"rdma"), (b"tmpfs", None))]
held(mount=all(result < 0 for result in tries),
     release_agent=not os.path.exists("/sys/fs/cgroup"))
""",
    ),
    attack(
        40,
        "the_supervisor_cannot_be_looked_into",
        """
pids = [name for name in os.listdir("/proc") if name.isdigit() and name != str(os.getpid())]
walls = {}
for pid in pids:
    for part in ("root", "cwd", "fd", "environ", "mem", "maps"):
        path = f"/proc/{pid}/{part}"
        look = os.listdir if part in ("root", "cwd", "fd") else lambda p: open(p, "rb").read(64)
        walls[f"pid{pid}_{part}"] = refused(look, path)
fds = [fd for fd in range(3, 1024) if not refused(os.fstat, fd)]
own = {os.path.realpath(f"/proc/self/fd/{fd}") for fd in fds}
held(**walls, descriptors=all(place.startswith("/work") for place in own))
""",
    ),
    attack(
        41,
        "the_running_interpreter_cannot_be_rewritten",
        """
held(write=refused(open, "/proc/self/exe", "r+b"),
     truncate=refused(os.truncate, "/proc/self/exe", 0),
     parent=refused(open, "/proc/1/exe", "r+b"))
""",
    ),
    attack(
        42,
        "nothing_is_left_for_the_next_run",
        """
for place in ("/tmp/left", "/dev/shm/left", "/var/tmp/left", "/work/left"):
    open(place, "w").close()
held()
""",
        """
held(**{place.strip("/"): "left" not in os.listdir(place)
        for place in ("/tmp", "/dev/shm", "/var/tmp", "/work")})
""",
    ),
)
