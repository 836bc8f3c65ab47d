"""`quintain trial`: read the trial log of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quintain.cli._walls import walls
from quintain.errors import UserError

if TYPE_CHECKING:
    from quintain.log import Recorded
    from quintain.types import Trial

__all__ = ["trial"]

_RUN = click.Path(path_type=Path)
_NARROW = 60


@click.group()
def trial() -> None:
    """Read the trial log of a run.

    \b
    Examples:
      quintain trial list runs/demo
      quintain trial list runs/demo --phase train --failed --limit 20
      quintain trial show runs/demo 3f2a9c01
    """


@trial.command("list")
@click.argument("run_dir", type=_RUN, metavar="RUN")
@click.option("--phase", help="Only phases that begin so, for instance train or eval/after.")
@click.option("--family", help="Only this family.")
@click.option("--level", type=int, help="Only this level.")
@click.option("--passed", "wanted", flag_value="passed", help="Only trials with reward 1.")
@click.option("--failed", "wanted", flag_value="failed", help="Only trials with less.")
@click.option("--invalid", "wanted", flag_value="invalid", help="Only trials without a reward.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after so many.")
@click.option("--json", "as_json", is_flag=True, help="One whole trial a line, as JSON.")
def list_(
    run_dir: Path,
    phase: str | None,
    family: str | None,
    level: int | None,
    wanted: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List the trials of RUN, in the order they finished.

    \b
    Examples:
      quintain trial list runs/demo --phase eval/after --family string_expression
      quintain trial list runs/demo --json | jq .submission.text
    """
    from quintain.codec import encode
    from quintain.log import read_manifest, trials
    from quintain.view import visible

    read_manifest(run_dir)  # what is no run is refused, not listed as empty
    shown = 0
    for one in trials(run_dir):
        if (
            (phase is not None and not one.key.phase.startswith(phase))
            or (family is not None and one.family != family)
            or (level is not None and one.level != level)
            or (wanted is not None and _kind(one) != wanted)
        ):
            continue
        if as_json:
            click.echo(encode(one).decode())
        else:
            if not shown:
                click.echo(f"{'ID':8}  {'PHASE':20} {'STEP':>4}  {'TASK':24} {'REWARD':>7}  ANSWER")
            text = visible(one.submission.text).replace("\n", "⏎")
            answer = text if len(text) <= _NARROW else text[: _NARROW - 1] + "…"
            task = f"{one.family}@{one.level}"
            click.echo(
                f"{one.id[:8]}  {one.key.phase:20} {one.key.step:>4}  {task:24} "
                f"{_reward(one):>7}  {answer}"
            )
        shown += 1
        if shown == limit:
            return
    if not shown:
        click.echo("no trial fits", err=True)


@trial.command()
@click.argument("run_dir", type=_RUN, metavar="RUN")
@click.argument("trial_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Trial, task, interface and isolation.")
def show(run_dir: Path, trial_id: str, as_json: bool) -> None:
    """Show one trial of RUN: prompt, turns, verdict. ID may be shortened.

    \b
    Examples:
      quintain trial show runs/demo 3f2a9c01
      quintain trial show runs/demo 3f2a9c01 --json
    """
    from quintain.codec import encode

    found = _find(run_dir, trial_id)
    if as_json:
        click.echo(encode(found).decode())
    else:
        click.echo("\n".join(_lines(found)))


def _find(run_dir: Path, trial_id: str) -> Recorded:
    from quintain.log import recorded

    found = [one for one in recorded(run_dir) if one.trial.id.startswith(trial_id)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UserError(
            f"{run_dir}: no trial {trial_id!r}", hint="quintain trial list RUN names them"
        )
    raise UserError(f"{run_dir}: {len(found)} trials begin with {trial_id!r}", hint="add digits")


def _lines(found: Recorded) -> Iterator[str]:
    from quintain.view import visible

    one, task = found.trial, found.task
    yield f"trial {one.id}"
    yield (
        f"{one.key.phase}, step {one.key.step}, sample {one.key.sample}; "
        f"{one.family} level {one.level} ({one.split.value}); policy {one.policy.name}@"
        f"{one.policy.version}"
    )
    yield f"task {one.task_id}, variant {one.key.task_variant}"
    for number, turn in enumerate(one.trajectory.turns, start=1):
        yield f"\n--- turn {number}: prompt"
        yield visible(turn.prompt)
        tokens = len(turn.completion.token_ids_T)
        yield f"--- turn {number}: reply ({tokens} tokens, {turn.completion.stop.value})"
        yield visible(turn.completion.text)
        if turn.observation:
            yield f"--- turn {number}: observation"
            yield visible(turn.observation)
    yield "\n--- submission"
    yield visible(one.submission.text)
    yield f"\n--- verdict: {one.verdict.outcome.value}, reward {_reward(one)}"
    for layer in one.verdict.layers:
        yield f"{layer.layer.value:11} {layer.outcome.value:15} {layer.score:.2f}  " + visible(
            layer.evidence
        )
    for number, case in enumerate(one.verdict.cases, start=1):
        mark = "pass" if case.passed else "FAIL"
        yield f"case {number}: {mark}  {visible(case.evidence)}".rstrip()
    if one.verdict.flags:
        yield f"flags: {', '.join(map(visible, one.verdict.flags))}"
    yield f"judge {one.verdict.judge.name} {one.verdict.judge.digest}"
    yield f"gold: {visible(task.gold)}"
    if found.isolation is not None:
        yield f"isolation: {walls(found.isolation)}"
    costs = one.costs
    yield (
        f"costs: {costs.prompt_tokens} + {costs.sampled_tokens} tokens, sampling "
        f"{costs.sampling_s:.2f} s, judging {costs.judging_s:.3f} s, sandbox CPU "
        f"{costs.sandbox_cpu_s:.3f} s{', verdict reused' if costs.cached else ''}"
    )


def _kind(one: Trial) -> str:
    if one.reward is None:
        return "invalid"
    return "passed" if one.reward.value == 1 else "failed"


def _reward(one: Trial) -> str:
    return one.verdict.outcome.value if one.reward is None else f"{one.reward.value:.2f}"
