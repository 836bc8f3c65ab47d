"""`quintain task`: look at tasks, make them, read and write them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quintain.cli._choose import TASKS_HELP, chosen_family, chosen_tasks
from quintain.cli._task_import import import_
from quintain.cli._task_out import deliver, force_option, out_option, wrote
from quintain.cli._task_text import brief, judge, overlap_lines, preview, prompt
from quintain.errors import UserError

if TYPE_CHECKING:
    from quintain.types import Split, Task

__all__ = ["task"]

_PATH = click.Path(path_type=Path)
_split = click.option(
    "--split",
    type=click.Choice(["train", "held_out"]),
    default="train",
    show_default=True,
    help="Which side of the wall to draw from; a file has its own.",
)
_seed = click.option("--seed", type=int, default=0, show_default=True, help="Of the draw.")


@click.group()
def task() -> None:
    """Look at tasks, make them, read and write them.

    TASKS is a file, or FAMILY[@LEVELS][#COUNT].

    \b
    Examples:
      quintain task list number_problems@1-3#12
      quintain task show number_problems@6#1
      quintain task generate string_expression@1-4#200 --seed 7 --out train.jsonl
      quintain task import gsm8k test.jsonl --out gsm8k.jsonl
      quintain task overlap train.jsonl gsm8k.jsonl
    """


@task.command("list", epilog=TASKS_HELP)
@click.argument("tasks", metavar="TASKS")
@_split
@_seed
@click.option("--json", "as_json", is_flag=True, help="One task a line: id, family, level, …")
def list_(tasks: str, split: str, seed: int, as_json: bool) -> None:
    """List TASKS, one a line.

    \b
    Examples:
      quintain task list train.jsonl
      quintain task list string_expression@5#8 --split held_out --json
    """
    from quintain.codec import encode

    chosen = _chosen(tasks, split, seed)
    if as_json:
        for one in chosen:
            click.echo(encode(brief(one)).decode())
        return
    click.echo(f"{'ID':8}  {'TASK':24} {'SPLIT':8}  {'JUDGE':12} PROMPT")
    for one in chosen:
        name = f"{one.family}@{one.level}"
        click.echo(f"{one.id[:8]}  {name:24} {one.split.value:8}  {judge(one):12} {prompt(one)}")


@task.command(epilog=TASKS_HELP)
@click.argument("tasks", metavar="TASKS")
@click.option("--id", "wanted", default="", help="Only tasks whose id begins so.")
@click.option("--limit", type=click.IntRange(min=1), default=3, show_default=True)
@_split
@_seed
@click.option("--json", "as_json", is_flag=True, help="One whole task a line, as in a file.")
def show(tasks: str, wanted: str, limit: int, split: str, seed: int, as_json: bool) -> None:
    """Show TASKS whole: prompt, gold, wrong answers, cases. Not for the eyes of a policy.

    \b
    Examples:
      quintain task show number_problems@6#1
      quintain task show train.jsonl --id 3f2a9c01
    """
    from quintain.codec import encode

    found = [one for one in _chosen(tasks, split, seed) if one.id.startswith(wanted)]
    if not found:
        raise UserError(
            f"{tasks}: no task {wanted!r}", hint=f"quintain task list {tasks} names them"
        )
    for one in found[:limit]:
        click.echo(encode(one).decode() if as_json else preview(one))
    if len(found) > limit:
        click.echo(f"{len(found) - limit} more; --limit shows them", err=True)


@task.command()
@click.argument("families", metavar="FAMILY[@LEVELS][#COUNT]...", nargs=-1, required=True)
@_split
@_seed
@out_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="With --out: what was written, as JSON.")
def generate(
    families: Sequence[str], split: str, seed: int, out: Path | None, force: bool, as_json: bool
) -> None:
    """Generate tasks of families as JSONL, to stdout or a file.

    \b
    Examples:
      quintain task generate number_problems@1-3#30 > tasks.jsonl
      quintain task generate number_problems#60 string_expression#60 --out train.jsonl
    """
    # All are read before the first is drawn, so that a slip in the last one costs nothing.
    choices = [chosen_family(text) for text in families]
    side = _side(split)
    drawn = {one.id: one for choice in choices for one in choice.draw(side, seed)}
    deliver(list(drawn.values()), out, force, as_json)


@task.command(epilog=TASKS_HELP)
@click.argument("tasks", metavar="TASKS")
@click.argument("out", type=_PATH, metavar="OUT")
@click.option(
    "--as",
    "kind",
    type=click.Choice(["jsonl", "parquet", "trl", "verl"]),
    default="jsonl",
    show_default=True,
    help="Own JSONL or Parquet, or rows for TRL or verl (JSONL).",
)
@_split
@_seed
@force_option
@click.option("--json", "as_json", is_flag=True, help="What was written, as JSON.")
def export(
    tasks: str, out: Path, kind: str, split: str, seed: int, force: bool, as_json: bool
) -> None:
    """Export TASKS to the file OUT, whole or not at all.

    \b
    Examples:
      quintain task export number_problems#500 rows.jsonl --as trl
      quintain task export train.jsonl train.parquet --as parquet
    """
    from quintain.tasks.formats import export_tasks

    count = export_tasks(kind, _chosen(tasks, split, seed), out, replace=force)
    wrote(count, "rows", out, as_json)


@task.command(epilog=TASKS_HELP)
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.option("--near", type=float, default=0.8, show_default=True, help="Similar prompts, 0 to 1.")
@click.option(
    "--split",
    type=click.Choice(["train", "held_out"]),
    default="train",
    show_default=True,
    help="Of A, where A is a family; B is then the other side.",
)
@_seed
@click.option("--json", "as_json", is_flag=True, help="All pairs, as JSON.")
def overlap(left: str, right: str, near: float, split: str, seed: int, as_json: bool) -> None:
    """Tell which problems A and B share, by hash and by resemblance of prompts.

    Exit code 1 when there are any.

    \b
    Examples:
      quintain task overlap train.jsonl held_out.jsonl
      quintain task overlap number_problems#200 number_problems#200 --json
    """
    from quintain.codec import encode
    from quintain.tasks.formats import overlap as compare

    ours = _chosen(left, split, seed)
    theirs = _chosen(right, "held_out" if split == "train" else "train", seed)
    found = compare(ours, theirs, threshold=near)
    if as_json:
        click.echo(encode(found).decode())
    else:
        click.echo("\n".join(overlap_lines(found, {one.id: one for one in (*ours, *theirs)})))
    if found.found:
        sys.exit(1)


task.add_command(import_)


def _side(split: str) -> Split:
    from quintain.types import Split

    return Split(split)


def _chosen(tasks: str, split: str, seed: int) -> Sequence[Task]:
    return chosen_tasks(tasks, split=_side(split), seed=seed)
