"""From a run directory to its result and its report; reads the log and nothing else."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from quintain.evaluate import Paired, check_overlap
from quintain.log import Manifest, Run, read_run
from quintain.recipes._catalogue import changed
from quintain.recipes._config import RunConfig
from quintain.recipes._draws import CODE, held_out
from quintain.recipes._measure import Measured, last_step, measured, paired
from quintain.recipes._result import HeldOut, Mismatch, RunResult, change, rates
from quintain.tasks import FAMILIES
from quintain.types import Outcome, Split
from quintain.view import (
    HealthPoint,
    HeldOutPoint,
    Result,
    RunReport,
    Separation,
    TimeSpent,
    TrainPoint,
    choose_exhibits,
    held_out_point,
    level_cells,
    write_report,
)

__all__ = ["Story", "tell"]

_SHOWN_PACKAGES = ("quintain", "torch", "transformers", "tokenizers", "numpy")

_APART = (
    "A problem is held out when the hash of its canonical form falls into 5 of 16 buckets; "
    "training draws from the other 11 alone. A third of the wordings and one combination of "
    "operations in six are kept for the held-out side too, so the suite also asks for unseen "
    "phrasings and unseen combinations."
)


class Story:
    """A finished run: the result for machines and the report for people."""

    def __init__(self, result: RunResult, report: RunReport, path: Path) -> None:
        self.result = result
        self.report = report
        self.path = path


def tell(run_dir: Path, config: RunConfig, *, summary: str, stopped: str) -> Story:
    """Compute the result of a run from its log, and write its ``report.html``.

    Raises `UserError` when a problem was both trained on and held out.
    """
    run = read_run(run_dir)
    samples = config.held_out_samples
    before = measured(run, "eval/before", samples=samples)
    after = measured(run, "eval/after", samples=samples, step=last_step(run, "eval/after"))
    metrics = _by_step(run, "grpo")
    overlap = check_overlap(_trained(run), [task.id for task in held_out(config)])
    code = paired(before, after, CODE.name, "sampled")
    invalid = sum(trial.verdict.outcome is Outcome.INVALID for trial in run.trials)
    time = _time(run)
    errors = [values["ratio_error"] for values in metrics.values() if "ratio_error" in values]
    path = run_dir / "report.html"
    result = RunResult(
        recipe=config.recipe,
        seed=config.seed,
        run_dir=str(run_dir),
        report=str(path),
        heldout=HeldOut(
            family=CODE.name,
            before=rates(before.evaluation, CODE.name),
            after=rates(after.evaluation, CODE.name),
            others={
                family.name: (
                    rates(before.evaluation, family.name),
                    rates(after.evaluation, family.name),
                )
                for family in FAMILIES[1:]
                if before.evaluation and family.name in before.evaluation.families
            },
            overlap=overlap,
        ),
        paired=change(code),
        paired_greedy=change(paired(before, after, CODE.name, "greedy")),
        mismatch=Mismatch(
            first_step=metrics.get(1, {}).get("ratio_error"),
            worst_step=max(errors, default=None),
        ),
        steps=len(metrics),
        trials=len(run.trials),
        invalid=invalid,
        seconds=time.total_s,
        stopped=stopped,
        digests={"config": run.manifest.config_digest, **run.manifest.digests},
    )
    report = _report(run, config, before, after, time, summary=summary, stopped=stopped)
    write_report(path, report)
    return Story(result, report, path)


def _report(
    run: Run,
    config: RunConfig,
    before: Measured,
    after: Measured,
    time: TimeSpent,
    *,
    summary: str,
    stopped: str,
) -> RunReport:
    metrics = _by_step(run, "grpo")
    both = before.evaluation is not None and after.evaluation is not None
    return RunReport(
        title=f"{config.recipe}: what training changed",
        recipe=config.recipe,
        summary=summary,
        result=_result("All held-out tasks", before, after, None),
        families=tuple(
            _result(family.name, before, after, family.name)
            for family in FAMILIES
            if before.evaluation and family.name in before.evaluation.families
        ),
        training=tuple(
            TrainPoint(step=step, reward=values["reward"])
            for step, values in sorted(metrics.items())
            if "reward" in values
        ),
        held_out=_curve(run, config, max(metrics, default=0)),
        levels=level_cells(before.evaluation, after.evaluation)
        if before.evaluation and after.evaluation
        else (),
        health=tuple(_health(step, values) for step, values in sorted(metrics.items())),
        time=time,
        trials=len(run.trials),
        invalid=sum(trial.verdict.outcome is Outcome.INVALID for trial in run.trials),
        exhibits=choose_exhibits(before.greedy, after.greedy) if both else (),
        separation=Separation(
            definition=_APART,
            train_problems=len(_trained(run)),
            held_out_problems=config.held_out_code + config.held_out_maths,
            overlap=0,
        ),
        command=_command(run.manifest),
        seed=config.seed,
        config={key: str(value) for key, value in run.manifest.config.items()},
        digests={"config": run.manifest.config_digest, **run.manifest.digests},
        versions={
            "python": run.manifest.python,
            **{p: v for p, v in run.manifest.packages.items() if p in _SHOWN_PACKAGES},
        },
        notes=_notes(run, config, stopped),
    )


def _result(name: str, before: Measured, after: Measured, family: str | None) -> Result:
    greedy: Paired | None = paired(before, after, family, "greedy")
    return Result(name=name, greedy=greedy, sampled=paired(before, after, family, "sampled"))


def _curve(run: Run, config: RunConfig, last: int) -> tuple[HeldOutPoint, ...]:
    """Return the held-out probe after SFT (step 0) and during GRPO."""
    points = []
    for step in range(last + 1):
        probe = measured(run, "eval/probe", samples=config.held_out_samples, step=step)
        if probe.evaluation is not None:
            points.append(held_out_point(step, probe.evaluation))
    return tuple(points)


def _health(step: int, values: Mapping[str, float]) -> HealthPoint:
    return HealthPoint(
        step=step,
        ratio_error=values.get("ratio_error"),
        effective_share=values.get("effective_share"),
        entropy=values.get("entropy"),
        zero_advantage=values.get("zero_advantage"),
        invalid=values.get("invalid"),
    )


def _trained(run: Run) -> set[str]:
    """Return the ids of the problems that training tried or was shown."""
    ids = {t.task_id for t in run.trials if t.key.phase == "train" or t.split is Split.TRAIN}
    for event in run.events:
        if event.kind == "demonstrations":
            ids.update(event.message.split())
    return ids


def _by_step(run: Run, phase: str) -> dict[int, Mapping[str, float]]:
    """Return the last figures of each step that is in the final weights.

    A resumed run may have made a step twice, or recorded steps that a smaller budget then left out.
    """
    ends = [int(m.values[phase]) for m in run.metrics if m.phase == "end"]
    found = {m.step: m.values for m in run.metrics if m.phase == phase}
    return {step: values for step, values in found.items() if not ends or step <= ends[-1]}


def _time(run: Run) -> TimeSpent:
    parts: dict[str, float] = {}
    for metric in run.metrics:
        if metric.phase == "time":
            for name, seconds in metric.values.items():
                parts[name] = parts.get(name, 0.0) + seconds
    known = {
        name: parts.get(name, 0.0) for name in ("sampling", "judging", "training", "evaluating")
    }
    return TimeSpent(
        sampling_s=known["sampling"],
        judging_s=known["judging"],
        training_s=known["training"],
        evaluating_s=known["evaluating"],
        other_s=max(0.0, parts.get("life", 0.0) - sum(known.values())),
    )


def _command(manifest: Manifest) -> str:
    words = ["quintain", "run", str(manifest.config["recipe"]), "--seed", str(manifest.seed)]
    for key, value in changed(manifest.config).items():
        words += ["--set", f"{key}={value}"]
    return shlex.join(words)


def _notes(run: Run, config: RunConfig, stopped: str) -> tuple[str, ...]:
    notes = []
    if stopped:
        notes.append(f"Training ended early: {stopped}.")
    if config.sft_wrong_share:
        notes.append(
            f"{config.sft_wrong_share:.0%} of the demonstrations showed a known-wrong answer, on "
            "purpose: the recipe is a demonstration of the mechanics."
        )
    resumed = sum(event.kind == "resume" for event in run.events)
    if resumed:
        notes.append(f"The run was resumed {resumed} time(s); every recorded trial was reused.")
    return tuple(notes)
