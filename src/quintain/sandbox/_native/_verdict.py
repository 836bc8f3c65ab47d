"""Decide how a run ended from what was measured; pure.

Order of the findings: what the kernel or the launcher did to the run comes first, then limits
that the program met and did not survive, then its own exit.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Observed", "status"]

_INVALID_SHARE = 0.2
"""Share of the wall limit spent waiting for a core above which a wall kill proves nothing."""


class Observed(NamedTuple):
    """What the launcher saw of one run."""

    exit_code: int | None
    killed: str
    """The limit for which the launcher killed it: cpu, wall, output, memory; or empty."""
    cpu_s: float
    cpu_limit_s: float
    oom_kills: int
    refused_forks: int
    disk_full: bool
    run_delay_s: float
    wall_limit_s: float
    build_failed: bool = False


def status(seen: Observed) -> str:
    """Return the value of an `ExecutionStatus`."""
    failed = seen.exit_code != 0
    if seen.build_failed and failed:
        return "compile_error"
    if seen.oom_kills or seen.killed == "memory":
        return "memory_limit"
    if seen.killed == "output":
        return "output_limit"
    if seen.refused_forks and failed:
        return "process_limit"
    if seen.killed == "cpu" or seen.cpu_s > seen.cpu_limit_s:
        return "cpu_limit"
    if seen.killed == "wall":
        waited = seen.run_delay_s > _INVALID_SHARE * seen.wall_limit_s
        return "invalid" if waited else "wall_limit"
    if seen.disk_full and failed:
        return "disk_limit"
    return "runtime_error" if failed else "ok"
