"""Attacks on what others need too: processes, memory, time, output, disk."""

from __future__ import annotations

from quintain.sandbox import Program
from quintain.testing._attacks._attack import Attack, attack

__all__ = ["RESOURCE_ATTACKS"]

_LIMIT = "process_limit"

RESOURCE_ATTACKS: tuple[Attack, ...] = (
    attack(
        1,
        "fork_bomb",
        "while True: os.fork()",
        ends=f"{_LIMIT} cpu_limit memory_limit output_limit",
        ordinary="runtime_error cpu_limit memory_limit output_limit wall_limit invalid",
    ),
    attack(
        1.1,
        "forks_are_counted",
        """
import time
born = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
        born += 1
except OSError:
    held(counted=born <= 40)
    sys.exit(1)
""",
        ends=_LIMIT,
        ordinary="runtime_error",
    ),
    attack(
        2,
        "daemon_dies_at_the_end_of_the_run",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "4242"])
    os._exit(0)
os.wait()
""",
        """
alive = [pid for pid in range(2, 2000)
         if pid not in (os.getpid(), os.getppid()) and not refused(os.kill, pid, 0)]
held(daemon_gone=alive == [])
""",
    ),
    attack(
        3,
        "zombies_are_reaped",
        """
import time
for _ in range(200):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.0005)
held()
""",
        limits={"cpu_s": 4},
    ),
    attack(
        4,
        "threads_are_counted",
        """
import threading
stop, born = threading.Event(), 0
try:
    while True:
        threading.Thread(target=stop.wait, daemon=True).start()
        born += 1
except RuntimeError:
    held(counted=born <= 40)
    sys.stdout.flush()
    os._exit(1)
""",
        ends=_LIMIT,
        ordinary="runtime_error",
    ),
    attack(
        5,
        "touching_all_memory",
        """
kept = []
for _ in range(400):
    kept.append(b"x" * (1 << 20))
held(memory=False)
""",
        ends="memory_limit",
        ordinary="memory_limit runtime_error",
    ),
    attack(
        6,
        "memory_is_summed_over_children",
        """
import time
for _ in range(12):
    if os.fork() == 0:
        kept = b"x" * (30 << 20)
        time.sleep(5)
        os._exit(0)
time.sleep(1.5)
alive = sum(os.waitpid(-1, os.WNOHANG) == (0, 0) for _ in range(1))
held(memory=not alive)
""",
        ends="memory_limit",
    ),
    attack(
        7,
        "shared_memory_is_a_sized_disk",
        """
with open("/dev/shm/x", "wb", buffering=0) as file:
    for _ in range(200):
        file.write(b"x" * (1 << 20))
held(size=False)
""",
        ends="disk_limit memory_limit",
    ),
    attack(
        8,
        "anonymous_files_are_charged",
        """
for _ in range(40):
    fd = os.memfd_create("x")
    for _ in range(7):
        os.write(fd, b"x" * (1 << 20))
held(memory=False)
""",
        ends="memory_limit",
        ordinary="runtime_error",
    ),
    attack(
        9,
        "reserving_address_space_is_allowed",
        """
import mmap
mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, 0)
held()
""",
    ),
    attack(10, "spinning", "while True: pass", ends="cpu_limit"),
    attack(11, "sleeping", "import time; time.sleep(600)", ends="wall_limit", limits={"wall_s": 1}),
    attack(
        12,
        "ignoring_every_signal",
        """
import signal, time
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
time.sleep(600)
""",
        ends="wall_limit",
        limits={"wall_s": 1},
    ),
    attack(
        13,
        "stopping_its_own_group",
        "import signal; os.kill(0, signal.SIGSTOP)",
        ends="wall_limit",
        limits={"wall_s": 1},
    ),
    attack(
        14,
        "processor_time_is_summed",
        """
for _ in range(7):
    if os.fork() == 0:
        break
while True: pass
""",
        ends="cpu_limit",
    ),
    attack(15, "flood_of_stdout", "while True: os.write(1, b'x' * 65536)", ends="output_limit"),
    attack(
        16,
        "flood_of_stderr_without_stdout",
        "os.close(1)\nwhile True: os.write(2, b'x' * 65536)",
        ends="output_limit",
    ),
    attack(
        17,
        "closing_stdio_ends_nothing",
        """
import time
sys.stdout.write("held"); sys.stdout.flush()
for fd in (0, 1, 2): os.close(fd)
time.sleep(0.3)
os._exit(7)
""",
        ends="runtime_error",
    ),
    attack(
        18,
        "input_that_nobody_reads",
        Program(argv=("sh", "-c", "echo held"), stdin=b"x" * (20 << 20)),
    ),
    attack(
        19,
        "bytes_that_are_not_text",
        "os.write(1, b'\\x00\\xff\\xe2\\x82held')",
        says=b"\x00\xff\xe2\x82held",
    ),
    attack(
        20,
        "filling_the_disk",
        """
with open("x", "wb", buffering=0) as one, open("y", "wb", buffering=0) as two:
    for file in (one, two) * 20:
        file.write(b"x" * (1 << 20))
held(size=False)
""",
        ends="disk_limit",
    ),
    attack(
        21,
        "a_sparse_file_is_not_brought_back",
        """
with open("big", "wb") as file:
    too_big = refused(file.truncate, 1 << 40)
    file.truncate(7 << 20)
held(file_size=too_big)
""",
        refused=("big",),
    ),
    attack(
        22,
        "a_million_files",
        "for index in range(1000000): open(str(index), 'w').close()",
        ends="disk_limit",
    ),
    attack(
        23,
        "a_tree_thousands_deep",
        """
for _ in range(4000):
    os.mkdir("d"); os.chdir("d")
held()
""",
        limits={"inodes": 5000, "cpu_s": 4},
    ),
    attack(
        24,
        "a_tree_that_nobody_may_enter",
        """
for name in ("a", "a/b", "a/b/c"): os.mkdir(name)
for name in ("a/b/c", "a/b", "a"): os.chmod(name, 0)
held()
""",
    ),
    attack(
        25,
        "descriptors_run_out",
        """
import errno
kept = []
try:
    while len(kept) < 5000: kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    kept = error.errno == errno.EMFILE
held(descriptors=kept is True)
""",
    ),
    attack(
        26,
        "no_core_dump",
        "import resource; held(core=resource.getrlimit(resource.RLIMIT_CORE) == (0, 0))\n"
        "sys.stdout.flush(); os.abort()",
        ends="runtime_error",
        refused=("core",),
    ),
    attack(
        27,
        "system_v_memory_does_not_outlive_the_run",
        *[
            """
import errno
made = call(29, 4242, 4096, 0o3600)  # IPC_CREAT | IPC_EXCL
held(fresh=made >= 0 or made == -errno.EPERM)
"""
        ]
        * 2,
    ),
    attack(
        28,
        "a_compiler_that_never_ends",
        Program(
            argv=("sh", "-c", "gcc -c main.c || exit 1"),
            files={"main.c": b'#include "/dev/zero"\n'},
        ),
        ends="cpu_limit memory_limit disk_limit runtime_error output_limit",
    ),
    attack(
        29,
        "a_bomb_in_the_output_is_only_bytes",
        "import pickle; os.write(1, b'held' + pickle.dumps(eval))",
    ),
)
