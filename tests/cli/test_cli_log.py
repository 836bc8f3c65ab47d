"""`quintain log verify` as a user meets it: as a process."""

import json
import subprocess
import sys
from pathlib import Path

from quintain.log import AuditLog, EventRecord, RunLog
from quintain.types import Limits


def verify(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "quintain", "log", "verify", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def run(run_dir: Path) -> Path:
    with RunLog(run_dir) as log, AuditLog(run_dir) as audit_log:
        log.append(EventRecord(kind="a", message="b", at=0.0))
        for cpu_s in (1.0, 2.0, 3.0):
            audit_log.append("limits", Limits(cpu_s=cpu_s))
    return audit_log.segment


def test_an_intact_run_is_counted_and_its_head_can_be_expected(tmp_path: Path) -> None:
    run(tmp_path)
    done = verify(str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "trial log: 1 record in 1 segment" in done.stdout
    assert "audit log: 3 records in 1 segment" in done.stdout
    head = next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("head "))
    found = verify(str(tmp_path), "--json", "--expect", head)
    assert found.returncode == 0
    told = json.loads(found.stdout)
    assert (told["intact"], told["head"], told["findings"]) == (True, head, [])
    assert verify(str(tmp_path), "--expect", "0" * 64).returncode == 1


def test_damage_ends_with_code_1_and_names_segment_and_line(tmp_path: Path) -> None:
    segment = run(tmp_path)
    segment.write_bytes(segment.read_bytes().replace(b'"cpu_s":2.0', b'"cpu_s":9.0'))
    done = verify(str(tmp_path))
    assert done.returncode == 1
    assert "DAMAGE: audit/000000.log: line 3: " in done.stdout
    assert "head" not in done.stdout
    assert json.loads(verify(str(tmp_path), "--json").stdout)["findings"][0]["line"] == 3


def test_no_such_run_ends_with_code_2(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        done = verify(str(path))
        assert done.returncode == 2
        assert done.stdout == ""
        assert "hint:" in done.stderr
