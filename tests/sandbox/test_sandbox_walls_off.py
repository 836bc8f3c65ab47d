"""The battery can fail: with a wall taken down, the attack that it holds off succeeds.

Where two walls hold the same attack, both come down.
"""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from battery_as_nobody import battery_as_nobody

from quintain.sandbox import Execution, Program, python_program
from quintain.sandbox._pool import opened
from quintain.testing._attacks import ATTACKS, complaint
from quintain.testing._battery import baits, run_attacks
from quintain.types import Freshness

_BY_NAME = {attack.name: attack for attack in ATTACKS}
_AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="this wall stands for root only")


def _complaint_without(off: set[str], name: str) -> str:
    attack = _BY_NAME[name]

    async def run() -> str:
        with baits() as bait:
            async with opened(1, (), Freshness.FRESH, (), off) as pool:
                findings = await run_attacks(pool, [attack], bait)
        done = findings[name].executions
        assert not any(done[-1].isolation.walls[wall] for wall in off)
        return complaint(attack, done, as_root=os.getuid() == 0)

    return anyio.run(run)


@pytest.mark.parametrize(
    ("off", "name"),
    [
        pytest.param({"seccomp"}, "no_nested_user_namespace", id="seccomp"),
        pytest.param({"seccomp"}, "rare_system_calls_are_closed", id="seccomp_rare_calls"),
        pytest.param({"seccomp"}, "keys_and_rare_sockets_are_closed", id="seccomp_sockets"),
        pytest.param({"seccomp"}, "another_abi_kills", id="seccomp_abi"),
        pytest.param(
            {"seccomp", "no_capabilities", "own_uid", "landlock"}, "no_mounting", id="capabilities"
        ),
        pytest.param(
            {"no_capabilities", "own_uid"}, "set_user_id_programs_gain_nothing", id="own_uid"
        ),
        pytest.param(
            {"no_new_privs", "no_capabilities", "own_uid", "landlock"},
            "set_user_id_programs_gain_nothing",
            id="no_new_privs",
        ),
        pytest.param({"net_namespace", "landlock"}, "the_internet_is_not_there", id="net"),
        pytest.param({"net_namespace", "landlock"}, "no_sockets_of_the_host", id="net_abstract"),
        pytest.param(
            {"pid_namespace", "landlock"}, "daemon_dies_at_the_end_of_the_run", id="pid_namespace"
        ),
        pytest.param(
            {"ipc_namespace"}, "system_v_memory_does_not_outlive_the_run", id="ipc_namespace"
        ),
        pytest.param({"rlimits"}, "descriptors_run_out", id="rlimits"),
        pytest.param({"rlimits", "cgroup_pids"}, "forks_are_counted", id="pids"),
        pytest.param({"rlimits", "cgroup_memory", "sampling"}, "touching_all_memory", id="memory"),
    ],
)
@_AS_ROOT
def test_without_its_wall_the_attack_succeeds(off: set[str], name: str) -> None:
    assert _complaint_without(off, name) != ""


def test_a_writable_root_is_written_to_by_an_ordinary_user(tmp_path: Path) -> None:
    attack = _BY_NAME["programs_of_the_host_cannot_be_changed"]
    findings = battery_as_nobody(tmp_path, attack.name, "read_only_root", "landlock")
    found = complaint(attack, findings[attack.name].executions, as_root=False)
    assert found.startswith("ESCAPED")


def _run(program: Program, off: set[str]) -> Execution:
    async def run() -> Execution:
        async with opened(1, (), Freshness.FRESH, (), off) as pool:
            return await pool.execute(program)

    done: Execution = anyio.run(run)
    return done


def test_landlock_alone_forbids_listening_without_loopback() -> None:
    program = python_program("import socket; socket.create_server(('0.0.0.0', 8080))")
    stood = _run(program, set())
    if not stood.isolation.walls["landlock"]:
        pytest.skip("this kernel has no Landlock")
    assert b"PermissionError" in stood.stderr
    assert _run(program, {"landlock"}).exit_code == 0
