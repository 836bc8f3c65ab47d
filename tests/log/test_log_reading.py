"""Manifest, whole runs, and what trials refer to."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from log_examples import GOLDEN_RECORDS, INTERFACE, ISOLATION, TASK, trial

import quintain.log
from quintain.codec import digest
from quintain.errors import LogError, UserError
from quintain.log import (
    EventRecord,
    Manifest,
    MetricRecord,
    RunLog,
    TaskRecord,
    TrialRecord,
    done,
    make_manifest,
    read_manifest,
    read_run,
    recorded,
    trials,
    write_manifest,
)
from quintain.types import Limits, Noun, Sampling, Task


class _Config(Noun, frozen=True, kw_only=True):
    recipe: str = "tiny"
    rate: float = 3e-3
    minutes: float | None = None
    limits: Limits = Limits()
    stop: tuple[str, ...] = ("\n",)
    phases: tuple[Sampling, ...] = (Sampling(),)


def _begin(run_dir: Path) -> Manifest:
    manifest = make_manifest(_Config(), seed=3, digests={"interface/code": INTERFACE.digest})
    write_manifest(run_dir, manifest)
    return manifest


def test_a_manifest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    run_dir = tmp_path / "deep" / "run"
    manifest = _begin(run_dir)
    assert read_manifest(run_dir) == manifest
    assert [path.name for path in run_dir.iterdir()] == ["manifest.json"]


def test_a_manifest_names_config_versions_and_host() -> None:
    manifest = make_manifest(_Config(), seed=3, digests={})
    assert manifest.config["recipe"] == "tiny"
    assert manifest.config["minutes"] is None
    assert manifest.config["limits.cpu_s"] == 2.0
    assert manifest.config["stop"] == ("\n",)
    assert manifest.config["phases.0.max_tokens"] == 64
    assert manifest.config_digest == digest(_Config())
    assert manifest.packages["msgspec"] == msgspec.__version__
    assert manifest.quintain == quintain.__version__
    assert manifest.host.cores >= 1
    assert manifest.host.memory_mib > 0
    assert manifest.git is None or len(manifest.git.commit) == 40


def test_a_second_run_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    first = _begin(tmp_path)
    with pytest.raises(UserError, match="holds a run already") as caught:
        _begin(tmp_path)
    assert "--resume" in caught.value.hint
    assert read_manifest(tmp_path) == first


@pytest.mark.parametrize("read", [read_run, read_manifest])
def test_a_directory_without_a_run_is_the_callers_error(read: object, tmp_path: Path) -> None:
    assert callable(read)
    with pytest.raises(UserError, match="not a run directory"):
        read(tmp_path / "absent")


def test_trials_of_an_absent_directory_are_the_callers_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run directory"):
        list(trials(tmp_path / "absent"))


def test_a_run_is_gathered_with_all_that_its_trials_refer_to(tmp_path: Path) -> None:
    manifest = _begin(tmp_path)
    with RunLog(tmp_path) as log:
        for record in GOLDEN_RECORDS:
            log.append(record)
    run = read_run(tmp_path)
    assert run.manifest == manifest
    logged = [record.trial for record in GOLDEN_RECORDS if isinstance(record, TrialRecord)]
    assert list(run.trials) == logged
    for attempt in run.trials:
        assert run.tasks[attempt.key.task_variant].id == attempt.task_id
        assert run.interfaces[attempt.interface] == INTERFACE
        assert not attempt.isolation or run.isolation[attempt.isolation] == ISOLATION
    assert run.metrics == tuple(r for r in GOLDEN_RECORDS if isinstance(r, MetricRecord))
    assert run.events == tuple(r for r in GOLDEN_RECORDS if isinstance(r, EventRecord))
    assert (run.torn, run.duplicates) == (0, ())


def test_torn_segments_and_repeated_trials_are_counted(tmp_path: Path) -> None:
    _begin(tmp_path)
    for text in ("first", "second"):
        with RunLog(tmp_path) as log:
            log.append(TrialRecord(trial=trial(0, text=text)))
        with log.segment.open("ab") as file:
            file.write(b"0123")
    run = read_run(tmp_path)
    assert run.torn == 2
    assert run.duplicates == (trial(0).id,)
    assert [attempt.submission.text for attempt in run.trials] == ["first"]
    assert list(trials(tmp_path)) == list(run.trials)
    assert done(tmp_path) == {run.trials[0].key: run.trials[0]}


def test_a_trial_is_recorded_with_the_task_it_was_judged_by(tmp_path: Path) -> None:
    stricter: Task = msgspec.structs.replace(TASK, gold="2 * x")
    with RunLog(tmp_path) as log:
        for record in GOLDEN_RECORDS[:4]:
            log.append(record)
        log.append(TaskRecord(task=stricter))
        log.append(TrialRecord(trial=trial(1)))
    found = list(recorded(tmp_path))
    assert [entry.task for entry in found] == [TASK, stricter]
    assert {entry.interface for entry in found} == {INTERFACE}
    assert [entry.isolation for entry in found] == [ISOLATION, ISOLATION]


def test_a_trial_whose_task_was_never_logged_is_damage(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        log.append(TrialRecord(trial=trial(0)))
    with pytest.raises(LogError, match="not logged before it"):
        list(recorded(tmp_path))


def test_every_exported_name_exists_once() -> None:
    assert len(quintain.log.__all__) == len(set(quintain.log.__all__))
    assert all(hasattr(quintain.log, name) for name in quintain.log.__all__)
