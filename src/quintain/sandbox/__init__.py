"""Isolated worlds for single programs: no daemon, root or rootless.

`execute` runs one program; `open_pool` keeps worlds ready for many.
"""

from __future__ import annotations

from quintain.sandbox._types import (
    Contention,
    Execution,
    ExecutionStatus,
    Pool,
    Program,
    python_program,
)
from quintain.sandbox._walls import ALL_WALLS, DEFAULT_WALLS

__all__ = [
    "ALL_WALLS",
    "DEFAULT_WALLS",
    "Contention",
    "Execution",
    "ExecutionStatus",
    "Pool",
    "Program",
    "python_program",
]
