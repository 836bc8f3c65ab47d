"""Whole runs of the tiny recipe, shortened: real sandboxes, a real model, a real log."""

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quintain.errors import UserError
from quintain.log import MetricRecord, RunLog, audited, done, read_run, verify
from quintain.recipes import RunResult, execute, prepare, result_json, resume
from quintain.sandbox import AuditRecord
from quintain.types import Split

SHORT = (
    "sft_steps=4", "sft_batch=8", "grpo_steps=4", "grpo_prompts=4", "grpo_samples=4",
    "held_out_code=12", "held_out_samples=2", "probe_every=2", "probe_tasks=4",
    "checkpoint_every=2", "levels=2",
)  # fmt: skip
EVALUATION = 12 * 3
PROBES = 3 * 4 * 2
TRAINING = 4 * 4 * 4

pytestmark = pytest.mark.slow


def run(out: Path, **budget: int) -> RunResult:
    return execute(prepare("tiny", overrides=SHORT, out=out, **budget), quiet=True)


def keys(run_dir: Path) -> set[tuple[str, int, str, int]]:
    return {(k.phase, k.step, k.task_variant, k.sample) for k in done(run_dir)}


def test_a_run_records_every_trial_once_and_tells_what_it_found(tmp_path: Path) -> None:
    result = run(tmp_path / "run")
    record = read_run(tmp_path / "run")
    assert len(record.trials) == result.trials == 2 * EVALUATION + PROBES + TRAINING
    assert record.duplicates == ()
    assert result.invalid == 0
    assert result.steps == 4
    assert result.stopped == ""
    trained = {t.split for t in record.trials if t.key.phase == "train"}
    measured = {t.split for t in record.trials if t.key.phase.startswith("eval/")}
    assert (trained, measured) == ({Split.TRAIN}, {Split.HELD_OUT})
    assert (tmp_path / "run" / "model" / "config.json").exists()
    assert "<svg" in (tmp_path / "run" / "report.html").read_text()
    assert verify(tmp_path / "run") == ()
    executed = [t for t in record.trials if t.isolation and not t.costs.cached]
    assert executed
    assert len(list(audited(tmp_path / "run", "execution", AuditRecord))) == len(executed)


def test_the_json_of_a_result_has_the_promised_shape(tmp_path: Path) -> None:
    found = json.loads(result_json(run(tmp_path / "run")))
    for side in ("before", "after"):
        assert set(found["heldout"][side]) == {"greedy", "sampled", "n"}
        assert found["heldout"][side]["n"] == 12
    assert {"delta", "ci95"} <= set(found["paired"])
    assert {"trials", "invalid", "seconds"} <= set(found)
    assert "first_step" in found["mismatch"]
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == found


def test_two_runs_of_one_seed_see_the_same_tasks_and_digests(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a"), run(tmp_path / "b")
    assert first.digests == second.digests
    assert {k for k in keys(tmp_path / "a") if k[0].startswith("eval")} == {
        k for k in keys(tmp_path / "b") if k[0].startswith("eval")
    }
    third = execute(prepare("tiny", overrides=SHORT, out=tmp_path / "c", seed=1), quiet=True)
    assert third.digests["held_out"] != first.digests["held_out"]


def test_a_budget_of_trials_is_kept_and_leaves_room_for_the_final_evaluation(
    tmp_path: Path,
) -> None:
    limit = 2 * EVALUATION + PROBES + TRAINING // 2
    result = run(tmp_path / "run", max_trials=limit)
    assert result.trials <= limit
    assert 0 < result.steps < 4
    assert "budget" in result.stopped
    assert result.heldout.after.n == 12


def test_a_budget_too_small_for_anything_still_ends_with_a_report(tmp_path: Path) -> None:
    result = run(tmp_path / "run", max_trials=5)
    assert result.trials <= 5
    assert result.stopped
    assert (tmp_path / "run" / "report.html").exists()


def test_a_run_out_of_budget_goes_on_where_it_stopped(tmp_path: Path) -> None:
    limit = 2 * EVALUATION + PROBES + TRAINING // 2
    stopped = run(tmp_path / "run", max_trials=limit)
    before = keys(tmp_path / "run")
    finished = execute(resume(tmp_path / "run", max_trials=10_000), quiet=True)
    assert stopped.steps < finished.steps == 4
    assert before <= keys(tmp_path / "run")
    assert read_run(tmp_path / "run").duplicates == ()


def test_a_finished_run_that_is_resumed_repeats_its_report_and_nothing_else(
    tmp_path: Path,
) -> None:
    first = run(tmp_path / "run")
    again = execute(resume(tmp_path / "run"), quiet=True)
    assert again.trials == first.trials
    assert (again.heldout, again.paired) == (first.heldout, first.paired)


def test_a_run_is_not_resumed_as_another_recipe(tmp_path: Path) -> None:
    run(tmp_path / "run", max_trials=5)
    with pytest.raises(UserError, match="'tiny'"):
        resume(tmp_path / "run", recipe="smollm2")


def test_killed_three_times_and_resumed_no_trial_is_lost_or_made_twice(tmp_path: Path) -> None:
    """Each life is killed with SIGKILL once it has acknowledged some random number of trials."""
    run_dir = tmp_path / "run"
    sets = [word for override in SHORT for word in ("--set", override)]
    command = [sys.executable, "-m", "quintain", "run", "tiny", "--out", str(run_dir), *sets]
    acknowledged: set[tuple[str, int, str, int]] = set()
    draw = random.Random(7)
    for _ in range(3):
        life = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = len(acknowledged) + draw.randint(10, 45)
        while life.poll() is None and _logged(run_dir) < wanted:
            time.sleep(0.01)  # nothing announces a line in another process's file
        os.kill(life.pid, signal.SIGKILL)
        life.wait()
        found = keys(run_dir)
        assert acknowledged <= found
        acknowledged = found
        command = [sys.executable, "-m", "quintain", "run", "--resume", str(run_dir), "--json"]
    last = subprocess.run(command, capture_output=True, text=True, check=True)
    record = read_run(run_dir)
    assert acknowledged <= keys(run_dir)
    assert record.duplicates == ()
    assert len(record.trials) == 2 * EVALUATION + PROBES + TRAINING
    assert json.loads(last.stdout)["trials"] == len(record.trials)
    assert not any(finding.damage for finding in verify(run_dir))
    executed = [t for t in record.trials if t.isolation and not t.costs.cached]
    # an execution whose trial was not logged any more was made all the same
    accounted = len(list(audited(run_dir, "execution", AuditRecord)))
    assert len(executed) <= accounted


def _logged(run_dir: Path) -> int:
    segments = (run_dir / "segments").glob("*.log") if run_dir.exists() else ()
    return sum(segment.read_bytes().count(b'{"type":"trial"') for segment in segments)


def test_a_run_that_another_process_is_writing_is_not_resumed(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run(run_dir, max_trials=5)
    before = keys(run_dir)
    with (run_dir / "lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another process"):
            execute(resume(run_dir, max_trials=10_000), quiet=True)
    assert keys(run_dir) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [("config.seed", 1), ("config.grpo_steps", 9), ("seed", 1), ("digests.held_out", "0" * 32)],
)
def test_a_run_whose_manifest_was_changed_is_not_resumed(
    field: str, value: object, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    run(run_dir, max_trials=5)
    manifest = json.loads((run_dir / "manifest.json").read_text())
    *outer, name = field.split(".")
    (manifest[outer[0]] if outer else manifest)[name] = value
    (run_dir / "manifest.json").write_text(json.dumps(manifest))
    before = keys(run_dir)
    with pytest.raises(UserError, match=r"manifest\.json"):
        execute(resume(run_dir, max_trials=10_000), quiet=True)
    assert keys(run_dir) == before


def test_a_resumed_run_is_charged_only_for_attempts_that_are_not_on_record(
    tmp_path: Path,
) -> None:
    """Killed after its last GRPO step, before a checkpoint, it needs the final evaluation alone."""
    run_dir, limit = tmp_path / "run", 2 * EVALUATION + PROBES + TRAINING
    command = [
        sys.executable, "-m", "quintain", "run", "tiny", "--out", str(run_dir),
        "--max-trials", str(limit), "--set", "checkpoint_every=50",
        *[word for o in SHORT if "checkpoint" not in o for word in ("--set", o)],
    ]  # fmt: skip
    life = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while life.poll() is None and _logged(run_dir) < EVALUATION + 2 * 8 + 3 * 16:
        time.sleep(0.01)  # nothing announces a line in another process's file
    life.kill()
    life.wait()
    result = execute(resume(run_dir), quiet=True)
    assert (result.steps, result.stopped, result.trials) == (4, "", limit)


def test_a_small_budget_measures_less_and_still_trains(tmp_path: Path) -> None:
    result = run(tmp_path / "run", max_trials=60)
    assert result.trials <= 60
    assert result.steps >= 1
    assert 0 < result.heldout.after.n == result.heldout.before.n < 12


def test_steps_beyond_the_final_weights_are_not_told(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    stopped = run(run_dir, max_trials=2 * EVALUATION + PROBES + TRAINING // 2)
    with RunLog(run_dir) as log:  # a step of a life that was killed before its checkpoint
        log.append(MetricRecord(phase="grpo", step=9, values={"reward": 1.0}))
        log.append(MetricRecord(phase="end", step=0, values={"sft": 4, "grpo": stopped.steps}))
    again = execute(resume(run_dir), quiet=True)
    assert again.steps == stopped.steps


def test_a_full_disk_is_named_as_such_and_not_as_a_bug(tmp_path: Path) -> None:
    unshare = ["unshare", "--mount"]
    mount = f"mount -t tmpfs -o size=2m none {tmp_path}"
    if subprocess.run([*unshare, "sh", "-c", mount], check=False).returncode:
        pytest.skip("needs root, to mount a small disk")
    sets = " ".join(f"--set {override}" for override in SHORT)
    command = f"{mount} && exec {sys.executable} -m quintain run tiny --out {tmp_path}/run {sets}"
    done = subprocess.run(
        [*unshare, "sh", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "LogError" in done.stderr
    assert "hint: free space" in done.stderr
    assert "bug" not in done.stderr


def test_a_run_that_a_budget_ended_leaves_a_model_and_a_way_to_go_on(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run(run_dir, max_trials=2 * EVALUATION + PROBES + TRAINING // 2)
    assert (run_dir / "model" / "config.json").exists()
    assert (run_dir / "checkpoints").exists()
    finished = execute(resume(run_dir, max_trials=10_000), quiet=True)
    assert finished.steps == 4
    assert not (run_dir / "checkpoints").exists()


def test_a_learning_rate_that_destroys_the_model_is_said_to_be_too_high(tmp_path: Path) -> None:
    plan = prepare("tiny", overrides=(*SHORT, "sft_lr=1e30"), out=tmp_path / "run")
    with pytest.raises(UserError, match="diverged") as caught:
        execute(plan, quiet=True)
    assert "sft_lr" in caught.value.hint
