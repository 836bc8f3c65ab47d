"""Isolated worlds for single programs: no daemon, root or rootless.

`execute` runs one program; `open_pool` keeps worlds ready for many.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quintain.sandbox._audit import AuditRecord, audit
    from quintain.sandbox._pool import execute, open_pool
    from quintain.sandbox._probe import WallReport, probe
    from quintain.sandbox._session import Service, Session, SessionPool
    from quintain.sandbox._types import (
        DEFAULT_LIMITS,
        Contention,
        Execution,
        ExecutionStatus,
        Pool,
        Program,
        SecurityEvent,
        SecurityEventKind,
        python_program,
    )
    from quintain.sandbox._walls import ALL_WALLS, DEFAULT_WALLS

__all__ = [
    "ALL_WALLS",
    "DEFAULT_LIMITS",
    "DEFAULT_WALLS",
    "AuditRecord",
    "Contention",
    "Execution",
    "ExecutionStatus",
    "Pool",
    "Program",
    "SecurityEvent",
    "SecurityEventKind",
    "Service",
    "Session",
    "SessionPool",
    "WallReport",
    "audit",
    "execute",
    "open_pool",
    "probe",
    "python_program",
]

# The launcher imports its own modules through this package, with the standard library alone.
_MODULES = {
    "ALL_WALLS": "_walls",
    "AuditRecord": "_audit",
    "DEFAULT_WALLS": "_walls",
    "Service": "_session",
    "Session": "_session",
    "SessionPool": "_session",
    "WallReport": "_probe",
    "audit": "_audit",
    "execute": "_pool",
    "open_pool": "_pool",
    "probe": "_probe",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, '_types')}"), name)
