"""`quintain log`: check that the logs of a run are what was written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from quintain.log import Verification

__all__ = ["log"]


@click.group()
def log() -> None:
    """Check the logs of a run.

    \b
    Examples:
      quintain log verify runs/demo
      quintain log verify runs/demo --expect HEAD
    """


@log.command()
@click.argument("run_dir", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--expect", default="", metavar="HEAD", help="A head printed by an earlier check.")
@click.option("--json", "as_json", is_flag=True, help="Segments, findings and head as JSON.")
def verify(run_dir: Path, expect: str, as_json: bool) -> None:
    """Check the chain of RUN's audit log and the checksums of its trial log.

    Prints the head, one hash that vouches for the whole audit log. Keep it somewhere else: with
    --expect it shows later whether anything was taken away or written anew. Ends with code 0 when
    the logs are intact, with 1 when they are not.

    \b
    Examples:
      quintain log verify runs/demo
      quintain log verify runs/demo --json | jq -r .head
    """
    from quintain.codec import encode
    from quintain.log import verify_run

    found = verify_run(run_dir, expect=expect)
    if as_json:
        click.echo(encode(found).decode())
    else:
        _tell(found)
    sys.exit(0 if found.intact else 1)


def _tell(found: Verification) -> None:
    for what, segments in (("trial", found.trial_segments), ("audit", found.audit_segments)):
        records = sum(segment.records for segment in segments)
        counts = f"{_count(records, 'record')} in {_count(len(segments), 'segment')}"
        click.echo(f"{what} log: {counts}")
    if found.head:
        click.echo(f"head {found.head}")
    for finding in found.findings:
        where = f"{finding.segment}: line {finding.line}" if finding.line else finding.segment
        click.echo(f"{'DAMAGE' if finding.damage else 'note'}: {where}: {finding.problem}")
    click.echo("intact" if found.intact else "NOT intact", err=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
