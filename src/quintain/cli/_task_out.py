"""Where tasks go: to stdout as JSONL, or to a file, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from quintain.types import Task

__all__ = ["deliver", "force_option", "out_option", "wrote"]

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write to this file, whole or not at all.",
)
force_option = click.option("--force", is_flag=True, help="Replace the file when it exists.")


def deliver(tasks: Iterable[Task], out: Path | None, force: bool, as_json: bool) -> None:
    from quintain.codec import encode
    from quintain.tasks.formats import write_tasks

    if out is None:
        for one in tasks:
            click.echo(encode(one).decode())
    else:
        wrote(write_tasks(out, tasks, replace=force), "tasks", out, as_json)


def wrote(count: int, what: str, out: Path, as_json: bool) -> None:
    from quintain.codec import encode

    if as_json:
        click.echo(encode({what: count, "file": str(out)}).decode())
    else:
        click.echo(f"{count} {what} in {out}", err=True)
