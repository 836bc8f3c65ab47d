"""`quintain bench`: measure, in ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from quintain.errors import UserError

if TYPE_CHECKING:
    from quintain.bench import BenchResult

__all__ = ["bench"]


@click.group()
def bench() -> None:
    """Measure quintain against its floor and the peers a user would otherwise pick.

    \b
    Examples:
      quintain bench sandbox
      quintain bench sandbox --json | jq .ratios
    """


@bench.command("sandbox")
@click.option("--seconds", type=float, default=30.0, show_default=True, help="For each side.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def sandbox_(seconds: float, as_json: bool) -> None:
    """Measure fresh worlds against bubblewrap with a cold Python, and against a bare fork.

    \b
    Examples:
      quintain bench sandbox --seconds 5
    """
    from quintain.bench.sandbox import bench as measure

    if not seconds > 0:
        raise UserError(f"--seconds {seconds}: must be above 0", hint="30 gives steady figures")
    _show(measure(seconds=seconds), as_json)


def _show(found: BenchResult, as_json: bool) -> None:
    from quintain.codec import encode

    if as_json:
        click.echo(encode(found).decode())
        return
    click.echo(f"{found.bench}, {found.cores} cores")
    for name, ratio in found.ratios.items():
        low, high = found.spread[name]
        click.echo(f"  {name:24} {ratio:8.2f}   ({low:.2f} to {high:.2f})")
    for name, figure in found.figures.items():
        click.echo(f"  {name:24} {figure.value:8.2f} {figure.unit}")
