"""The audit log as written: golden segment, kill -9, a full disk, concurrent writers."""

from __future__ import annotations

import hashlib
import math
import signal
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import msgspec
import pytest
from audit_examples import GOLDEN, golden_bytes, record, write

from quintain.errors import LogError
from quintain.log import AUDIT_VERSION, AuditLog, audit_segments_of, audited, verify, verify_run
from quintain.sandbox import AuditRecord, SecurityEvent, SecurityEventKind

TESTS = Path(__file__).parent

APPEND_UNTIL_KILLED = """
import itertools, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from audit_examples import record
from quintain.log import AuditLog
log = AuditLog(Path(sys.argv[1]))
for number in itertools.count():
    log.append("execution", record(number))
    print(number, flush=True)
"""

APPEND_UNTIL_FULL = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from audit_examples import record
from quintain.errors import LogError
from quintain.log import AuditLog
log = AuditLog(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))
failed = 0
for number in range(20):
    try:
        log.append("execution", record(number))
        print(number)
    except LogError:
        failed += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append("execution", record(20))
print(20)
log.close()
sys.exit(0 if failed else 9)
"""


def _numbers(run_dir: Path) -> list[int]:
    return [int(one.command, 16) for one in audited(run_dir, "execution", AuditRecord)]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("audit_v*.log")), ids=lambda path: path.name)
def test_every_golden_audit_segment_ever_written_still_reads(path: Path, tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "000000.log").write_bytes(path.read_bytes())
    assert verify(tmp_path) == ()
    assert list(audited(tmp_path, "execution", AuditRecord)) == [record(n) for n in range(4)]
    assert list(audited(tmp_path, "other", AuditRecord)) == []


def test_audit_segments_are_written_byte_for_byte_as_the_golden_one() -> None:
    golden = (GOLDEN / f"audit_v{AUDIT_VERSION}.log").read_bytes()
    assert golden == golden_bytes(), "the lines changed: see audit_examples.py before you go on"


def test_the_chain_can_be_checked_with_nothing_but_sha256() -> None:
    before = "0" * 64
    for line in golden_bytes().splitlines():
        own, body = line[:64].decode(), line[65:]
        assert own == hashlib.sha256(before.encode() + body).hexdigest()
        before = own


def test_everything_acknowledged_before_kill_9_is_in_the_chain_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", APPEND_UNTIL_KILLED, str(tmp_path), str(TESTS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        acknowledged = [int(child.stdout.readline()) for _ in range(200)]
        child.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in child.stdout if line.endswith("\n")]
    assert child.returncode == -signal.SIGKILL
    logged = _numbers(tmp_path)
    assert logged[: len(acknowledged)] == acknowledged
    assert logged == list(range(len(logged)))
    assert len(logged) <= len(acknowledged) + 1
    found = verify(tmp_path)
    assert found
    assert not any(finding.damage for finding in found)
    write(tmp_path, 7)
    assert verify_run(tmp_path).intact
    assert _numbers(tmp_path) == [*logged, 7]


def test_a_full_disk_costs_no_acknowledged_record_and_breaks_no_chain(tmp_path: Path) -> None:
    command = [sys.executable, "-c", APPEND_UNTIL_FULL, str(tmp_path), str(TESTS)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert _numbers(tmp_path) == [int(line) for line in result.stdout.split()]
    assert verify(tmp_path) == ()


@pytest.mark.anyio
async def test_concurrent_audit_writers_have_segments_of_their_own(tmp_path: Path) -> None:
    def one(writer: int) -> None:
        write(tmp_path, *range(100 * writer, 100 * writer + 50))

    async with anyio.create_task_group() as group:
        for writer in range(8):
            group.start_soon(anyio.to_thread.run_sync, one, writer)
    assert len(audit_segments_of(tmp_path)) == 8
    assert verify(tmp_path) == ()
    assert sorted(_numbers(tmp_path)) == [100 * w + n for w in range(8) for n in range(50)]


@pytest.mark.anyio
async def test_threads_may_share_one_audit_log(tmp_path: Path) -> None:
    with AuditLog(tmp_path) as log:

        def one(first: int) -> None:
            for number in range(first, first + 50):
                log.append("execution", record(number))

        async with anyio.create_task_group() as group:
            for first in range(0, 200, 50):
                group.start_soon(anyio.to_thread.run_sync, one, first)
    assert verify(tmp_path) == ()
    assert sorted(_numbers(tmp_path)) == list(range(200))


def test_appends_are_synced_in_batches(tmp_path: Path) -> None:
    now = 0.0
    log = AuditLog(tmp_path, clock=lambda: now)
    log.append("execution", record(0))
    assert log._file.synced_at == 0.0
    now = 1.5
    log.append("execution", record(1))
    assert log._file.synced_at == 1.5
    log.close()


def test_what_json_would_change_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    event = SecurityEvent(kind=SecurityEventKind.REFUSED_OUTPUT, detail="\ud800")
    with AuditLog(tmp_path) as log:
        with pytest.raises(LogError, match="JSON"):
            log.append("execution", msgspec.structs.replace(record(0), cpu_s=math.nan))
        with pytest.raises(LogError, match="not Unicode"):
            log.append("execution", msgspec.structs.replace(record(0), events=(event,)))
        log.append("execution", record(1))
    assert _numbers(tmp_path) == [1]
    assert verify(tmp_path) == ()


def test_a_closed_audit_log_refuses_records_and_closes_twice(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.close()
    log.close()
    with pytest.raises(LogError, match="closed"):
        log.append("execution", record(0))
    assert verify(tmp_path) == ()
