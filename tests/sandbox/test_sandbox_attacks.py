"""The whole list of attacks, one line each, as root and as an ordinary user.

Expected ends per privilege stand beside each attack in `quintain.testing`.
"""

from __future__ import annotations

import os

import anyio
import pytest
from battery_as_nobody import battery_as_nobody

from quintain.sandbox import open_pool
from quintain.testing._attacks import ATTACKS, Attack, complaint
from quintain.testing._battery import Finding, baits, run_attacks
from quintain.types import Freshness


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


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    return battery_as_nobody(tmp_path_factory.mktemp("ordinary"))


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
