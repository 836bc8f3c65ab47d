"""One phrase for the walls of an isolation report."""

from __future__ import annotations

from quintain.types import IsolationReport

__all__ = ["walls"]

_STAND_IN = "sampling"
"""Only raised where control groups cannot be; its absence is not a hole."""


def walls(report: IsolationReport) -> str:
    """Say where a program ran and which walls were missing, for people."""
    missing = [wall for wall, stood in report.walls.items() if not stood and wall != _STAND_IN]
    stood = f"all but {', '.join(missing)}" if missing else "all"
    return f"{report.backend}, {report.freshness.value}; walls: {stood}"
