"""The whole list of attacks, one line each, as root and as an ordinary user.

Expected ends per privilege stand beside each attack in `quintain.testing`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import msgspec
import pytest

from quintain.sandbox import open_pool
from quintain.testing._attacks import ATTACKS, Attack, complaint
from quintain.testing._battery import Finding, baits, read_findings, run_attacks
from quintain.types import Freshness

_SOURCE = Path(__file__).resolve().parents[2] / "src"
_NOBODY = 65534


def _battery(freshness: Freshness) -> dict[str, Finding]:
    async def run() -> dict[str, Finding]:
        with baits() as bait:
            async with open_pool(slots=1, freshness=freshness) as pool:
                return await run_attacks(pool, ATTACKS, bait)

    return anyio.run(run)


@pytest.fixture(scope="module")
def fresh() -> dict[str, Finding]:
    return _battery(Freshness.FRESH)


@pytest.fixture(scope="module")
def pooled() -> dict[str, Finding]:
    return _battery(Freshness.POOLED)


def ordinary_python() -> str:
    """Find an interpreter that user 65534 can execute, or skip."""
    if os.getuid() != 0:
        pytest.skip("already an ordinary user")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    for python in (sys.executable, shutil.which(f"python3.{sys.version_info[1]}", path="/usr/bin")):
        # setpriv executes with root's rights of access: ask whether it can execute itself again
        again = "import subprocess, sys; subprocess.check_call([sys.executable, '-c', ''])"
        if python is None:
            continue
        asked = subprocess.run([*_AS_NOBODY, python, "-c", again], check=False, capture_output=True)
        if asked.returncode == 0:
            return python
    pytest.skip("user 65534 can execute no Python of this version")


_AS_NOBODY = ["setpriv", "--reuid", str(_NOBODY), "--regid", str(_NOBODY), "--clear-groups"]


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    python = ordinary_python()
    folder = tmp_path_factory.mktemp("ordinary")
    for place in (folder, folder.parent, folder.parent.parent):
        place.chmod(0o755)
    os.chown(folder, _NOBODY, _NOBODY)
    packages = Path(msgspec.__file__).parents[1]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{_SOURCE}:{packages}"}
    command = [*_AS_NOBODY, python, "-m", "quintain.testing._battery", str(folder / "out")]
    subprocess.run(command, env=environment, cwd="/", check=True)
    return read_findings(folder / "out")


def _check(attack: Attack, finding: Finding, *, as_root: bool) -> None:
    assert complaint(attack, finding.executions, as_root=as_root) == ""
    assert finding.left == 0, "processes are left one second after the run"


_each = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)


@_each
def test_attack_is_held_in_a_fresh_world(attack: Attack, fresh: dict[str, Finding]) -> None:
    _check(attack, fresh[attack.name], as_root=os.getuid() == 0)


@_each
def test_attack_is_held_in_a_pooled_world(attack: Attack, pooled: dict[str, Finding]) -> None:
    _check(attack, pooled[attack.name], as_root=os.getuid() == 0)


@_each
def test_attack_is_held_for_an_ordinary_user(attack: Attack, ordinary: dict[str, Finding]) -> None:
    _check(attack, ordinary[attack.name], as_root=False)
