"""Records that the audit tests share, and the command that writes the golden segment.

``python tests/log/audit_examples.py`` writes ``golden/audit_v<AUDIT_VERSION>.log``. A golden file
of a released version is never written again: raise AUDIT_VERSION when the lines change.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from quintain.log import AUDIT_VERSION, AuditLog
from quintain.sandbox import (
    AuditRecord,
    ExecutionStatus,
    SecurityEvent,
    SecurityEventKind,
)
from quintain.types import Limits

GOLDEN = Path(__file__).parent / "golden"


def record(number: int) -> AuditRecord:
    """One execution."""
    killed = SecurityEvent(kind=SecurityEventKind.LIMIT_KILL, detail="cpu")
    return AuditRecord(
        command=f"{number:032x}",
        inputs="0" * 32,
        image="host",
        limits=Limits(),
        isolation="f" * 32,
        missing_walls=(),
        status=ExecutionStatus.CPU_LIMIT if number % 2 else ExecutionStatus.OK,
        exit_code=None if number % 2 else 0,
        signal=9 if number % 2 else None,
        cpu_s=0.25 * number,
        wall_s=0.5,
        run_delay_s=0.0,
        events=(killed,) if number % 2 else (),
    )


def write(run_dir: Path, *numbers: int, seal: bool = True) -> Path:
    """Write one segment of these records; return its path."""
    log = AuditLog(run_dir, now=lambda: 1.5e9)
    for number in numbers:
        log.append("execution", record(number))
    if seal:
        log.close()
    return log.segment


def golden_bytes() -> bytes:
    """Return the golden segment as it must be written today."""
    with TemporaryDirectory() as directory:
        return write(Path(directory), 0, 1, 2, 3).read_bytes()


if __name__ == "__main__":
    (GOLDEN / f"audit_v{AUDIT_VERSION}.log").write_bytes(golden_bytes())
