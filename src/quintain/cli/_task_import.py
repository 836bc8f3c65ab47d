"""`quintain task import`: datasets of others as tasks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quintain.cli._task_out import deliver, force_option, out_option
from quintain.cli._task_text import short
from quintain.errors import UserError

if TYPE_CHECKING:
    from quintain.tasks.formats import Format, ImportCounts
    from quintain.types import Split, Task

__all__ = ["import_"]

_PATH = click.Path(path_type=Path)


@click.command("import")
@click.argument("name", metavar="FORMAT")
@click.argument("path", type=_PATH, metavar="PATH")
@click.option(
    "--split",
    type=click.Choice(["train", "held_out"]),
    default="held_out",
    show_default=True,
    help="The side of the wall that you declare it to be on.",
)
@out_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="With --out: the counts, as JSON.")
def import_(
    name: str, path: Path, split: str, out: Path | None, force: bool, as_json: bool
) -> None:
    """Import a dataset file (JSONL, plain or gzip) as tasks, to stdout or a file.

    Where a source lists no expected values, its solutions run in the sandbox to find them. What
    cannot be judged rightly is left out, and counted on stderr with the reason.

    \b
    FORMAT is one of:
      cruxeval_output, gsm8k, humaneval, humaneval_pack, humaneval_plus, math500, mbpp_plus,
      quixbugs

    \b
    Examples:
      quintain task import gsm8k test.jsonl --out gsm8k.jsonl
      quintain task import humaneval_plus HumanEvalPlus.jsonl.gz --out humaneval_plus.jsonl --json
    """
    from quintain.codec import encode
    from quintain.tasks.formats import ImportCounts
    from quintain.types import Split

    kind = _format(name)
    if out is not None and out.exists() and not force:
        raise UserError(f"{out}: exists already", hint="choose another name, or --force")
    counts = ImportCounts()
    tasks = _imported(kind, path, Split(split), counts)
    _report(counts)
    if not tasks:
        raise UserError(f"{path}: none of its {counts.rows} rows can be judged")
    deliver(tasks, out, force, False)
    if as_json and out is not None:
        reasons = Counter(one.reason for one in counts.left_out)
        click.echo(
            encode(
                {
                    "rows": counts.rows,
                    "tasks": counts.tasks,
                    "cases": counts.cases,
                    "left_out": dict(reasons),
                    "dropped_cases": dict(counts.dropped_cases),
                }
            ).decode()
        )


def _format(name: str) -> Format:
    from quintain.tasks.formats import FORMATS

    for kind in FORMATS:
        if kind.name == name:
            return kind
    names = ", ".join(kind.name for kind in FORMATS)
    raise UserError(f"no format is called {name!r}", hint=f"one of {names}")


def _imported(kind: Format, path: Path, split: Split, counts: ImportCounts) -> list[Task]:
    import anyio

    from quintain.sandbox import open_pool
    from quintain.tasks.formats import import_tasks

    async def gather(pool: object) -> list[Task]:
        tasks: list[Task] = []
        async for one in import_tasks(kind, path, pool, split=split, counts=counts):  # type: ignore[arg-type]  # a Pool or None
            tasks.append(one)
            if kind.executes and len(tasks) % 20 == 0:
                click.echo(f"{counts.rows} rows read, {len(tasks)} tasks", err=True)
        return tasks

    async def run() -> list[Task]:
        if not kind.executes:
            return await gather(None)
        async with open_pool(slots=1) as pool:
            return await gather(pool)

    return anyio.run(run)


def _report(counts: ImportCounts) -> None:
    click.echo(f"{counts.rows} rows: {counts.tasks} tasks", err=True)
    for reason, number in Counter(one.reason for one in counts.left_out).most_common():
        names = [one.source for one in counts.left_out if one.reason == reason]
        click.echo(f"left out {number}: {reason} ({short(', '.join(names))})", err=True)
    for reason, number in counts.dropped_cases.most_common():
        click.echo(f"cases dropped {number}: {reason}", err=True)
