"""Make the layer of Python packages from a lock file with hashes.

Invariant: only wheels whose hash the lock names are unpacked, nothing of a package is executed,
and what pip notes about the installation (paths, times, the installer) is taken out again, so that
the same wheels give the same layer. Packages lie in one directory that `PYTHONPATH` names: their
``.pth`` files are therefore not processed.
"""

from __future__ import annotations

import base64
import configparser
import csv
import hashlib
import importlib.util
import io
import marshal
import re
import subprocess
import sys
import warnings
from pathlib import Path

from quintain.errors import UserError
from quintain.image._spec import PythonSpec

__all__ = ["PREFIX", "install", "release_script"]

PREFIX = "/opt/quintain/python"
"""Where the packages are in every image."""
_NOISE = ("INSTALLER", "REQUESTED", "direct_url.json")
_SHEBANG = b"#!/usr/bin/env python3\n"
_SCRIPT = """\
import sys
from {module} import {first}

if __name__ == "__main__":
    sys.exit({call}())
"""


def install(python: PythonSpec, lock: Path, target: Path, *, compiled: bool) -> None:
    """Install the locked wheels into ``target``, which must not exist.

    ``compiled`` adds bytecode for the running interpreter, which never looks at file times.
    Raises `UserError` for a lock that is not one, and with pip's own words when pip refuses.
    """
    _check_lock(lock)
    _run_pip(python, lock, target)
    target.mkdir(exist_ok=True)  # an empty lock makes pip make nothing
    for script in sorted((target / "bin").glob("*")):
        release_script(script, sys.executable)
    for entry_points in sorted(target.glob("*.dist-info/entry_points.txt")):
        _write_scripts(entry_points, target / "bin")
    for record in sorted(target.glob("*.dist-info/RECORD")):
        _tidy_record(record, target)
    if compiled:
        for source in sorted(target.rglob("*.py")):
            _compile(source, f"{PREFIX}/{source.relative_to(target)}")


def _check_lock(lock: Path) -> None:
    """See that every requirement has a hash, and that no option can weaken what pip is told."""
    try:
        text = lock.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{lock}: cannot be read: {error}") from error
    joined, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        start = start if joined else number
        joined += re.sub(r"(^|\s)#.*", "", line).rstrip("\\").strip() + " "
        if line.rstrip().endswith("\\"):
            continue
        _check_requirement(f"{lock}:{start}", joined.strip())
        joined = ""
    _check_requirement(f"{lock}:{start}", joined.strip())


def _check_requirement(where: str, requirement: str) -> None:
    if not requirement:
        return
    if requirement.startswith("-"):
        hint = "a lock lists packages only; directories of wheels go to python.find_links"
        raise UserError(f"{where}: option {requirement.split()[0]} in a lock", hint=hint)
    if not re.search(r"--hash[=\s]sha256:[0-9a-f]{64}(\s|$)", requirement):
        name = requirement.split()[0]
        hint = "pip-compile --generate-hashes or uv export write locks with hashes"
        raise UserError(f"{where}: {name} has no sha256 hash", hint=hint)


def _run_pip(python: PythonSpec, lock: Path, target: Path) -> None:
    command = [
        *(sys.executable, "-m", "pip", "install", "--target", str(target)),
        *("--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-compile"),
        *("--no-input", "--disable-pip-version-check", "--no-warn-script-location"),
        *("--quiet", "--root-user-action", "ignore", "--requirement", str(lock)),
    ]
    for directory in python.find_links:
        command += ["--find-links", str(lock.parent / directory)]
    if python.find_links:
        command += ["--no-index"]
    if python.version:
        command += ["--python-version", python.version, "--implementation", "cp"]
        command += ["--abi", f"cp{python.version.replace('.', '')}", "--abi", "abi3"]
        command += ["--abi", "none"]
    for platform in python.platforms:
        command += ["--platform", platform]
    if importlib.util.find_spec("pip") is None:
        hint = f"{sys.executable} -m ensurepip, or use an environment that has it"
        raise UserError("python packages need pip in the interpreter that builds", hint=hint)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise UserError(f"{lock}: pip refused:\n" + "\n".join(said[-12:]))


def release_script(script: Path, interpreter: str) -> None:
    """Point a script at the image's Python instead of the builder's.

    Only the two forms that pip writes are touched: the interpreter after ``#!``, and the shell
    line that stands in for it when its path is long or holds a space.
    """
    if not script.is_file() or script.is_symlink():
        return
    first, *rest = script.read_bytes().split(b"\n", 3)
    path = interpreter.encode()
    if first.removeprefix(b"#!").strip(b'" ') == path:
        script.write_bytes(_SHEBANG + b"\n".join(rest))
        return
    stands_in = first == b"#!/bin/sh" and len(rest) == 3 and rest[1] == b"' '''"
    if stands_in and rest[0].startswith(b"'''exec' ") and path in rest[0]:
        script.write_bytes(_SHEBANG + rest[2])


def _write_scripts(entry_points: Path, place: Path) -> None:
    """Write the scripts of entry points over pip's own, whose wording changes with its version."""
    parser = configparser.RawConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    try:
        parser.read_string(entry_points.read_text(encoding="utf-8"))
    except (configparser.Error, UnicodeDecodeError):
        return  # pip made of it what it could
    for section in ("console_scripts", "gui_scripts"):
        for name, entry in parser.items(section) if parser.has_section(section) else ():
            module, _, call = entry.partition("[")[0].strip().partition(":")
            script = place / name
            if call and script.is_file():
                text = _SCRIPT.format(module=module, first=call.partition(".")[0], call=call)
                script.write_bytes(_SHEBANG + text.encode())


def _tidy_record(record: Path, target: Path) -> None:
    """Drop what depends on the installation, and list what is really there."""
    for name in _NOISE:
        (record.parent / name).unlink(missing_ok=True)
    own = f"{record.parent.name}/RECORD"
    rows = []
    for row in csv.reader(io.StringIO(record.read_text(encoding="utf-8"))):
        path = re.sub(r"^(\.\./)+", "", row[0]) if row else ""
        if path == own or not (target / path).is_file():
            continue
        data = (target / path).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append([path, f"sha256={digest}", str(len(data))])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([*sorted(rows), [own, "", ""]])
    record.write_text(text.getvalue(), encoding="utf-8")


def _compile(source: Path, name: str) -> None:
    """Write bytecode that is trusted without a look at the source: layers do not change.

    Marshal version 2 has no back-references: those follow reference counts, which differ between
    one build and the next.
    """
    data = source.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about packages that are not ours to mend
            code = compile(data, name, "exec", dont_inherit=True, optimize=0)
        body = marshal.dumps(code, 2)
    except (SyntaxError, ValueError, RecursionError):
        return  # a template, or another Python's: it is compiled if it is ever imported
    place = Path(importlib.util.cache_from_source(str(source), optimization=""))
    place.parent.mkdir(exist_ok=True)
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")
    place.write_bytes(header + importlib.util.source_hash(data) + body)
