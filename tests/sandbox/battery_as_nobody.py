"""Run the battery as an ordinary user, from tests that run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from quintain.testing._battery import Finding, read_findings

__all__ = ["AS_NOBODY", "battery_as_nobody", "nobody_environment", "ordinary_python"]

_SOURCE = Path(__file__).resolve().parents[2] / "src"
_NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid", str(_NOBODY), "--regid", str(_NOBODY), "--clear-groups"]


def ordinary_python() -> str:
    """Find an interpreter that user 65534 can execute, or skip."""
    if os.getuid() != 0:
        pytest.skip("already an ordinary user")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    # setpriv executes with root's rights of access: ask whether it can execute itself again
    again = "import subprocess, sys; subprocess.check_call([sys.executable, '-c', ''])"
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info[1]}"):
        if Path(python).exists():
            command = [*AS_NOBODY, python, "-c", again]
            if subprocess.run(command, check=False, capture_output=True).returncode == 0:
                return python
    pytest.skip("user 65534 can execute no Python of this version")


def nobody_environment() -> dict[str, str]:
    """Return the environment in which that interpreter finds what is tested."""
    packages = Path(msgspec.__file__).parents[1]
    return {"PATH": os.environ["PATH"], "PYTHONPATH": f"{_SOURCE}:{packages}"}


def battery_as_nobody(folder: Path, *arguments: str) -> dict[str, Finding]:
    """Run the battery; ``arguments`` are those of its command line after OUT."""
    python = ordinary_python()
    for place in (folder, folder.parent, folder.parent.parent):
        place.chmod(0o755)
    os.chown(folder, _NOBODY, _NOBODY)
    out = folder / "out"
    command = [*AS_NOBODY, python, "-m", "quintain.testing._battery", str(out), *arguments]
    subprocess.run(command, env=nobody_environment(), cwd="/", check=True)
    return read_findings(out)
