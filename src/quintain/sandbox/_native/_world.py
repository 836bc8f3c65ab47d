"""One run's own process: from a fork of the slot zygote to the program; stdlib only.

It first makes the world (mounts, device, limits), then waits for its job, then gives up every
privilege, and only then looks at what it was given. Order matters: the walls that need
privileges to raise come first, seccomp comes last.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps; no stubs
import _socket
import atexit
import builtins
import marshal
import os
import resource
import struct
import sys

from quintain.sandbox._native import _files, _landlock, _seccomp, _slot, _sys

TYPE_CHECKING = False  # `typing` stays out of the zygote
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "PROC_OPTIONS",
    "RUN_NAMESPACES",
    "Start",
    "attach_box",
    "enter",
    "new_box",
    "prepare",
    "run",
]

RUN_NAMESPACES = (
    ("mount_namespace", "mnt", _sys.CLONE_NEWNS),
    ("ipc_namespace", "ipc", _sys.CLONE_NEWIPC),
    ("uts_namespace", "uts", _sys.CLONE_NEWUTS),
    ("net_namespace", "net", _sys.CLONE_NEWNET),
)
"""Wall, name below ``/proc/PID/ns``, flag: what a fresh world has beside its pid namespace."""
_NO_EXEC_FLAGS = _sys.MS_NOSUID | _sys.MS_NODEV | _sys.MS_NOEXEC
_WRITABLE_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
PROC_OPTIONS = "subset=pid,hidepid=ptraceable"
"""Nothing of the host's state, and no process that the program could not trace anyway."""
_PYTHON = ("python", "python3")


class Start:
    """What a world's process is to run once it stands behind all its walls."""

    def __init__(self, argv: list[str], op: str, warm: bool) -> None:
        self.argv, self.op, self.warm = argv, op, warm


def prepare(config: dict[str, Any]) -> None:
    """Do once, in the main zygote, what every run would do alike."""
    if "seccomp" not in config["off"]:
        uncounted = _seccomp.UNCOUNTED if config["no_memory_cgroup"] else ()
        config["filter"] = _seccomp.Filter(_seccomp.build(_seccomp.FINAL + uncounted))


def enter(
    control: _socket.socket,
    jobs: _socket.socket,
    uid: int,
    config: dict[str, Any],
    *,
    fresh: bool,
) -> Start:
    """Finish the world around this process, take its job, and give up every privilege.

    ``fresh`` says that this process was born into namespaces of its own.
    """
    off = config["off"]
    try:
        # out of the caller's process group and session, which kill(0, …) would reach
        os.setsid()
        if fresh:
            _sys.mount("proc", "/proc", "proc", _NO_EXEC_FLAGS, PROC_OPTIONS)
        else:
            _sys.unshare(_sys.CLONE_NEWIPC)
        _, fds = _slot.receive(jobs)
        if not fds:
            os._exit(0)
        header, blobs = _read_job(fds[0])
        for target, fd in enumerate(fds[1:4]):
            os.dup2(fd, target)
        if header["log"]:
            # only now may another process be put in stock, or it could take this one's job
            _slot.tell(control, {"event": "taken"})
            log = os.open(header["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.dup2(log, 1)
            os.dup2(log, 2)
        _size_box(header["limits"])
        if "rlimits" not in off:
            _set_rlimits(header["limits"], config)
        if header["loopback"]:
            _sys.loopback_up()
        _give_up(uid, config)
        _lay_files(header["files"], blobs)
        built = fds[4] if header["build"] else 2
        _seal(header, config, built)
    except BaseException as error:  # noqa: BLE001  the launcher must hear of anything
        problem = f"{type(error).__name__}: {error}"
        _slot.tell(control, {"event": "failed", "problem": problem})
        os._exit(1)
    if header["build"]:
        _build(header["build"], built)
    return Start(header["argv"], header["op"], header["warm"])


def new_box() -> int:
    """Make the small disk of one run, not yet attached anywhere."""
    return _sys.fsmount_tmpfs({"size": "1m", "nr_inodes": "64", "mode": "755"})


def attach_box(box: int, uid: int) -> None:
    """Attach a run's disk and make its directories."""
    _sys.move_mount(box, "/box")
    for name, mode in (("work", 0o755), ("tmp", 0o1777), ("shm", 0o1777)):
        os.mkdir(f"/box/{name}")  # noqa: PTH102  pathlib stays out of the zygote
        os.chmod(f"/box/{name}", mode)  # noqa: PTH101
    if uid != os.getuid():
        os.chown("/box/work", uid, uid)
    _sys.mount("/box/work", "/work", None, _sys.MS_BIND)


def _read_job(fd: int) -> tuple[dict[str, Any], list[bytes]]:
    """Read the job: its header's length, the header, and the files' contents end to end."""
    content = os.read(fd, os.fstat(fd).st_size)
    (length,) = struct.unpack_from("=I", content)
    header = marshal.loads(content[4 : 4 + length])  # noqa: S302  from the launcher: ours
    blobs, at = [], 4 + length
    for size in header["sizes"]:
        blobs.append(content[at : at + size])
        at += size
    return header, blobs


def _size_box(limits: dict[str, Any]) -> None:
    options = f"size={limits['disk_mib']}m,nr_inodes={limits['inodes'] + 4}"
    _sys.mount("box", "/box", None, _sys.MS_REMOUNT | _sys.MS_NOSUID | _sys.MS_NODEV, options)


def _set_rlimits(limits: dict[str, Any], config: dict[str, Any]) -> None:
    disk = limits["disk_mib"] << 20
    cpu = int(limits["cpu_s"]) + 2
    pairs = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: cpu,
        resource.RLIMIT_FSIZE: disk,
        resource.RLIMIT_MEMLOCK: 1 << 16,
        resource.RLIMIT_MSGQUEUE: 1 << 16,
        resource.RLIMIT_NICE: 0,
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_NPROC: limits["processes"] + config["spare_processes"],
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_SIGPENDING: 1024,
    }
    if config["no_memory_cgroup"]:
        pairs[resource.RLIMIT_DATA] = (limits["memory_mib"] << 21) + (64 << 20)
    for kind, value in pairs.items():
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    soft = 8 << 20
    resource.setrlimit(
        resource.RLIMIT_STACK, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard)
    )


def _give_up(uid: int, config: dict[str, Any]) -> None:
    """Become the slot's unprivileged user without any capability."""
    if not config["rootless"] and "own_uid" not in config["off"]:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if "no_capabilities" not in config["off"]:
        _sys.drop_capabilities(bounding=config["rootless"])
    _sys.set_dumpable(True)
    fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(fd, b"1000")
    os.close(fd)


def _lay_files(names: list[str], blobs: list[bytes]) -> None:
    os.chdir("/work")
    for name, content in zip(names, blobs, strict=True):
        if "/" in name:
            os.makedirs(os.path.dirname(name), exist_ok=True)  # noqa: PTH103, PTH120
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.close(fd)


def _seal(header: dict[str, Any], config: dict[str, Any], kept: int) -> None:
    """Raise the last walls; from here on nothing privileged works. Closes all but ``kept``."""
    if config["landlock"] and "landlock" not in config["off"]:
        places = (("/box/work", "/box/tmp", "/box/shm"), _WRITABLE_DEVICES)
        alone = not header["session"]  # commands of a session may see to each other
        _landlock.restrict(config["landlock"], places, tcp=header["loopback"], alone=alone)
    _sys.close_range(3, kept - 1)
    _sys.close_range(kept + 1)
    if "filter" in config:
        config["filter"].load()
    if header["env"]:
        os.environ.update(header["env"])


def _build(argv: list[str], built: int) -> None:
    """Run the build command; go on only when it succeeds, and say so."""
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)
        _execute_program(argv)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        os._exit(status if status > 0 else 128 - status)
    os.write(built, b"1")
    os.close(built)


def run(start: Start) -> None:
    """Run the program and end this process as it would have ended on its own."""
    argv = start.argv
    if start.op != "run":
        _files.serve(start.op, argv)
    is_file = len(argv) > 1 and argv[1].endswith(".py") and argv[1][0] != "-"
    if start.warm and argv[0] in _PYTHON and is_file:
        _run_python(argv[1:])
    _execute_program(argv)


def _execute_program(argv: list[str]) -> None:
    """Become another program, with the signals that it expects."""
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(2, f"quintain: {argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _run_python(argv: list[str]) -> None:
    """Behave as ``python FILE.py`` does, without starting an interpreter."""
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    path = os.path.abspath(argv[0])  # noqa: PTH100
    main = type(sys)("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = main
    sys.argv[:], sys.path[0] = argv, os.path.dirname(path)  # noqa: PTH120
    sys.orig_argv[:] = [sys.executable, *argv]
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        source = b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
        os.close(fd)
    except OSError as error:
        os.write(2, f"python: can't open file {path!r}: {error.strerror}\n".encode())
        os._exit(2)
    _finish(_execute(source, path, main.__dict__))


def _execute(source: bytes, path: str, namespace: dict[str, Any]) -> int:
    try:
        exec(compile(source, path, "exec", dont_inherit=True), namespace)  # noqa: S102
    except SystemExit as leaving:
        return _exit_code(leaving.code)
    except BaseException as error:  # noqa: BLE001  printed just as the interpreter would
        trace = error.__traceback__
        error.__traceback__ = trace.tb_next if trace else None  # without this function's frame
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)  # noqa: T201
    return 1


def _finish(code: int) -> None:
    """Do what the interpreter does at exit that a program can see, and no more.

    Modules are not torn down: it would touch every page that the fork shares with the zygote.
    """
    try:
        if threading := sys.modules.get("threading"):
            threading._shutdown()  # what the interpreter itself calls
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  as above
        sys.excepthook(type(error), error, error.__traceback__)
        code = code or 120
    try:
        sys.stderr.flush()
    finally:
        os._exit(code)
