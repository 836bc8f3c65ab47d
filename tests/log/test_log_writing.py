"""What survives: kill -9, a full disk, a directory that cannot be written, concurrent writers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest
from log_examples import trial

from quintain.errors import LogError
from quintain.log import (
    EventRecord,
    RunLog,
    TrialRecord,
    records,
    segments_of,
    trials,
)

TESTS = Path(__file__).parent

APPEND_UNTIL_KILLED = """
import itertools, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from log_examples import trial
from quintain.log import RunLog, TrialRecord
log = RunLog(Path(sys.argv[1]))
for sample in itertools.count():
    attempt = trial(sample)
    log.append(TrialRecord(trial=attempt))
    print(attempt.id, flush=True)
"""

APPEND_UNTIL_FULL = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from log_examples import trial
from quintain.errors import LogError
from quintain.log import RunLog, TrialRecord
log = RunLog(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
failed = 0
for sample in range(100):
    attempt = trial(sample, text="x" * (1 if sample % 2 else 1_000))
    try:
        log.append(TrialRecord(trial=attempt))
        print(attempt.id)
    except LogError as error:
        assert error.hint
        failed += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
last = trial(1000)
log.append(TrialRecord(trial=last))
print(last.id)
log.close()
sys.exit(0 if failed else 9)
"""


def test_everything_acknowledged_before_kill_9_is_in_the_log_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", APPEND_UNTIL_KILLED, str(tmp_path), str(TESTS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        acknowledged = [child.stdout.readline().strip() for _ in range(200)]
        child.send_signal(signal.SIGKILL)
        acknowledged += [line.strip() for line in child.stdout if line.endswith("\n")]
    assert child.returncode == -signal.SIGKILL
    logged = [record.trial.id for record in records(tmp_path) if isinstance(record, TrialRecord)]
    assert len(logged) == len(set(logged))
    # the one after the last acknowledged record may have reached the kernel before its id was seen
    assert logged[: len(acknowledged)] == acknowledged
    assert len(logged) <= len(acknowledged) + 1


def test_a_full_disk_is_an_error_and_costs_no_acknowledged_record(tmp_path: Path) -> None:
    command = [sys.executable, "-c", APPEND_UNTIL_FULL, str(tmp_path), str(TESTS)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert [attempt.id for attempt in trials(tmp_path)] == result.stdout.split()


def test_a_partial_line_that_cannot_be_cut_off_seals_the_segment(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.append(TrialRecord(trial=trial(0)))
    read_only = os.open(log.segment, os.O_RDONLY)
    os.dup2(read_only, log._file.fd)  # neither write nor truncate works from here on
    os.close(read_only)
    for _ in range(2):
        with pytest.raises(LogError) as caught:
            log.append(TrialRecord(trial=trial(1)))
        assert caught.value.hint
    log.close()
    assert [attempt.key.sample for attempt in trials(tmp_path)] == [0]


def test_a_directory_that_cannot_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "segments").write_text("in the way")
    with pytest.raises(LogError, match="no segment can be begun") as caught:
        RunLog(tmp_path)
    assert "--out" in caught.value.hint


def test_a_reopened_run_begins_a_new_segment_and_leaves_the_torn_one_alone(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        log.append(TrialRecord(trial=trial(0)))
    with log.segment.open("ab") as file:
        file.write(b"0123abcd {torn")
    torn = log.segment.read_bytes()
    with RunLog(tmp_path) as resumed:
        resumed.append(TrialRecord(trial=trial(1)))
    assert [path.name for path in segments_of(tmp_path)] == ["000000.log", "000001.log"]
    assert log.segment.read_bytes() == torn
    assert [attempt.key.sample for attempt in trials(tmp_path)] == [0, 1]


@pytest.mark.anyio
async def test_concurrent_writers_lose_and_mix_nothing(tmp_path: Path) -> None:
    def write(writer: int) -> None:
        with RunLog(tmp_path) as log:
            for number in range(100):
                log.append(EventRecord(kind=str(writer), message=str(number), at=0.0))

    async with anyio.create_task_group() as group:
        for writer in range(8):
            group.start_soon(anyio.to_thread.run_sync, write, writer)
    assert len(segments_of(tmp_path)) == 8
    for path in segments_of(tmp_path):
        assert path.read_bytes().count(b"\n") == 101
    found = [
        (event.kind, event.message) for event in records(tmp_path) if isinstance(event, EventRecord)
    ]
    assert sorted(found) == sorted((str(w), str(n)) for w in range(8) for n in range(100))


@pytest.mark.anyio
async def test_threads_may_share_one_writer(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:

        def write(first: int) -> None:
            for sample in range(first, first + 100):
                log.append(TrialRecord(trial=trial(sample)))

        async with anyio.create_task_group() as group:
            for first in range(0, 400, 100):
                group.start_soon(anyio.to_thread.run_sync, write, first)
    assert sorted(attempt.key.sample for attempt in trials(tmp_path)) == list(range(400))


def test_appends_are_synced_once_a_second_of_the_clock_has_passed(tmp_path: Path) -> None:
    now = 0.0
    log = RunLog(tmp_path, clock=lambda: now)
    log.append(TrialRecord(trial=trial(0)))
    assert log._file.synced_at == 0.0
    now = 1.5
    log.append(TrialRecord(trial=trial(1)))
    assert log._file.synced_at == 1.5
    log.close()


def test_a_closed_log_refuses_records_and_closes_twice(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.close()
    log.close()
    with pytest.raises(LogError, match="closed"):
        log.append(TrialRecord(trial=trial(0)))
