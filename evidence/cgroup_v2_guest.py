"""The walls stand on a unified cgroup v2 hierarchy: probe and attacks in a small virtual machine.

The guest boots a Debian kernel with an initial file system made of this host's interpreter, this
package and what they need; its control groups are v2 alone. It probes every wall and runs the whole
list of attacks as root, and tells over its serial console. The kernel is that of ``/boot``, or is
fetched with ``apt-get download`` for the occasion. The processor is
emulated: takes some minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

import quintain
from _guest import MARK
from _report import CannotRun, Seen, equal, main

_HERE = Path(__file__).resolve().parent
_PACKAGE = "linux-image-cloud-amd64"
_COMMANDS = ("sh", "cat", "sleep", "true", "env", "ls", "dd", "kill", "echo", "grep", "id")
_NEEDED = (
    "import quintain.testing._battery, quintain.sandbox._native, asyncio, anyio._backends._asyncio"
)


class _Told(msgspec.Struct):
    """What the guest prints."""

    kernel: str
    walls: dict[str, bool]
    evidence: dict[str, str]
    attacks: dict[str, str]
    hierarchies: str
    controllers: str


def _kernel(folder: Path) -> Path:
    """Find a kernel, or fetch one into a folder."""
    for found in sorted(Path("/boot").glob("vmlinuz-*"), reverse=True):
        return found
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise CannotRun("no kernel in /boot, and no apt-get to fetch one with")
    asked = _output(["apt-cache", "depends", _PACKAGE])
    names = re.findall(r"Depends: (linux-image-\S+)", asked)
    if not names:
        raise CannotRun(f"no kernel in /boot, and apt-get knows no {_PACKAGE}")
    os.chmod(folder, 0o777)  # noqa: PTH101, S103  apt fetches as a user of its own
    fetched = subprocess.run(
        ["apt-get", "download", "-q", names[0]], cwd=folder, capture_output=True, check=False
    )
    packages = list(folder.glob("*.deb"))
    if fetched.returncode or not packages:
        raise CannotRun(f"no kernel in /boot, and apt-get cannot fetch {names[0]}")
    subprocess.run(["dpkg-deb", "-x", str(packages[0]), str(folder / "kernel")], check=True)
    return next((folder / "kernel" / "boot").glob("vmlinuz-*"))


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout


def _files() -> dict[str, Path]:
    """List what the guest's file system is made of: path there to file here."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    places = [path for path in stdlib.iterdir() if path.name not in _LEFT_OUT]
    packages = _output([sys.executable, "-c", f"{_NEEDED}\n{_LIST}"]).splitlines()
    found: dict[str, Path] = {}
    for place in [*places, *map(Path, packages)]:
        for file in place.rglob("*") if place.is_dir() else [place]:
            if file.is_file() and "__pycache__" not in file.parts:
                found[str(file)] = file
    python = Path(sys.executable).resolve()
    found[str(python)] = python
    for name in _COMMANDS:
        if path := shutil.which(name):
            found[f"/usr/bin/{name}"] = Path(path).resolve()
    binaries = [file for file in found.values() if ".so" in file.name or os.access(file, os.X_OK)]
    found |= _libraries(binaries)
    found["/evidence/_guest.py"] = _HERE / "_guest.py"
    return found


_LEFT_OUT = {"test", "idlelib", "tkinter", "ensurepip", "site-packages", "lib2to3", "turtledemo"}
_LIST = """
import sys, sysconfig
from pathlib import Path
roots = {Path(p).resolve() for p in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))}
roots.add(Path(sys.modules["quintain"].__file__).resolve().parents[1])
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None)
    for root in roots if file else ():
        path = Path(file).resolve()
        if path.is_relative_to(root):
            print(root / path.relative_to(root).parts[0])
"""


def _libraries(binaries: Iterable[Path]) -> dict[str, Path]:
    """Find the shared libraries that binaries need, and the loader."""
    found = {}
    for path in re.findall(r"(/\S+) \(0x", _output(["ldd", *map(str, binaries)])):
        found[path] = Path(path).resolve()
    return found


def _archive(files: Mapping[str, Path], init: str, out: Path) -> None:
    """Write the initial file system, an archive of the ``newc`` kind, in one go."""
    with gzip.open(out, "wb", compresslevel=1) as archive:

        def add(name: str, mode: int, content: bytes) -> None:
            add.number += 1  # type: ignore[attr-defined]
            fields = (add.number, mode, 0, 0, 1, 0, len(content), 0, 0, 5, 1, len(name) + 1, 0)  # type: ignore[attr-defined]
            head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
            archive.write(head + b"\0" * (-len(head) % 4))
            archive.write(content + b"\0" * (-len(content) % 4))

        add.number = 0  # type: ignore[attr-defined]
        folders = {str(parent) for path in files for parent in Path(path).parents}
        for folder in sorted({*folders, "/dev", "/proc", "/sys", "/tmp", "/new", "/etc"} - {"/"}):  # noqa: S108
            add(folder[1:], 0o40755, b"")
        for path, file in sorted(files.items()):
            add(path[1:], 0o100755, file.read_bytes())
        add("init", 0o100755, init.encode())
        add("TRAILER!!!", 0, b"")


def _boot(kernel: Path, initial: Path, console: Path, patience_s: int) -> str:
    """Run the guest until it powers off or patience ends; return its console."""
    # emulated: where KVM is offered to a guest of a guest it may hang before the first line
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "3072"]
    command += ["-kernel", str(kernel), "-initrd", str(initial), "-no-reboot", "-nographic"]
    command += ["-append", "console=ttyS0 quiet panic=-1 random.trust_cpu=on", "-net", "none"]
    with console.open("wb") as out, contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            timeout=patience_s,
            check=False,
        )
    return console.read_bytes().decode("utf-8", "replace")


def _check(arguments: argparse.Namespace) -> Seen:
    if shutil.which("qemu-system-x86_64") is None:
        raise CannotRun("qemu-system-x86_64 is not installed (Debian: qemu-system-x86)")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        kernel = _kernel(folder)
        source = Path(quintain.__file__).resolve().parents[1]
        places = ["/evidence", str(source), sysconfig.get_path("purelib")]
        init = f"#!{Path(sys.executable).resolve()}\nimport sys\nsys.path[:0] = {places!r}\n"
        init += "import _guest\n_guest.main()\n"
        _archive(_files(), init, folder / "initial")
        console = _boot(kernel, folder / "initial", folder / "console", arguments.seconds)
    _, mark, rest = console.partition(MARK)
    if not mark:
        tail = " ".join(console[-1500:].split())
        return Seen(bounds=(equal("guests that answered", 0, 1),), figures={}, notes=(tail,))
    told = msgspec.json.decode(rest.partition(MARK)[0], type=_Told)
    return _seen(told)


def _seen(told: _Told) -> Seen:
    broken = {name: fault for name, fault in told.attacks.items() if fault}
    groups = [name for name in told.walls if name.startswith("cgroup_")]
    unified = told.hierarchies.startswith("0::") and told.hierarchies.count("\n") == 1
    return Seen(
        bounds=(
            equal("hierarchies but the unified one", int(not unified), 0),
            equal("control group walls that stand", sum(told.walls[n] for n in groups), 3),
            equal("attacks that were not held", len(broken), 0),
        ),
        figures={
            "kernel of the guest": told.kernel,
            "controllers": told.controllers.strip(),
            "attacks run": str(len(told.attacks)),
            "walls that stand": ", ".join(name for name, stands in told.walls.items() if stands),
            "walls that do not": _missing(told) or "none",
        },
        notes=tuple(f"{name}: {fault}" for name, fault in broken.items()),
    )


def _missing(told: _Told) -> str:
    return "; ".join(
        f"{name} ({told.evidence[name]})" for name, stands in told.walls.items() if not stands
    )


if __name__ == "__main__":
    main(__file__, __doc__, _check, [("seconds", 1200, "seconds that the guest may take")])
