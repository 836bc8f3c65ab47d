"""`quintain doctor`: what this host can isolate, what is missing, and how to get it."""

from __future__ import annotations

import sys

import click

from quintain.errors import UserError

__all__ = ["doctor"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON list of walls.")
def doctor(as_json: bool) -> None:
    """Try every wall of the sandbox on this host with a hostile program.

    Ends with code 0 when all required walls stand, with 1 when one of them does not.

    \b
    Examples:
      quintain doctor
      quintain doctor --json | jq -r '.[] | select(.stands | not) | .wall'
    """
    from quintain.codec import encode
    from quintain.sandbox import probe

    if sys.platform != "linux":
        raise UserError(f"sandboxes need Linux, this is {sys.platform}")
    reports = probe()
    if as_json:
        click.echo(encode(reports).decode())
    else:
        for report in reports:
            mark = "stands" if report.stands else "MISSING" if report.required else "missing"
            click.echo(f"{report.wall:16} {mark:8} {report.evidence}")
            if report.hint:
                click.echo(f"{'':16} {'':8} hint: {report.hint}")
    lacking = [report.wall for report in reports if report.required and not report.stands]
    if lacking:
        click.echo(f"required and missing: {', '.join(lacking)}", err=True)
        sys.exit(1)
    missing = sum(not report.stands for report in reports)
    rest = f"; {missing} optional missing" if missing else ""
    click.echo(f"every required wall stands{rest}", err=True)
