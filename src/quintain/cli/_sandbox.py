"""`quintain sandbox`: one command in a fresh world."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from quintain.cli._walls import walls
from quintain.errors import UserError

__all__ = ["sandbox"]


@click.group()
def sandbox() -> None:
    """Run a program in an isolated world.

    \b
    Examples:
      quintain sandbox run -- python -c 'print(6 * 7)'
      quintain sandbox run --file main.py --cpu-s 1 -- python main.py
    """


@sandbox.command(context_settings={"ignore_unknown_options": True})
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
@click.option("--cpu-s", type=float, help="Processor seconds.")
@click.option("--wall-s", type=float, help="Seconds on the clock.")
@click.option("--memory-mib", type=int)
@click.option("--processes", type=int)
@click.option("--disk-mib", type=int)
@click.option("--output-kib", type=int, help="For each of stdout and stderr.")
@click.option("--loopback", is_flag=True, help="Let 127.0.0.1 work inside.")
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Lay a file into the working directory; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="The whole execution as JSON.")
def run(
    argv: tuple[str, ...],
    cpu_s: float | None,
    wall_s: float | None,
    memory_mib: int | None,
    processes: int | None,
    disk_mib: int | None,
    output_kib: int | None,
    loopback: bool,
    files: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run COMMAND in a fresh world and show what it did, with the walls that stood.

    Its output goes to stdout and stderr as it is. Ends with code 0 when the command did, else 1.

    \b
    Examples:
      quintain sandbox run -- python -c 'import os; print(os.listdir("/"))'
      quintain sandbox run --memory-mib 64 -- python -c 'x = b"x" * 10**9'
      quintain sandbox run --json -- sh -c 'echo hi' | jq .status
    """
    import msgspec

    from quintain.codec import encode
    from quintain.sandbox import ExecutionStatus, Program, execute
    from quintain.types import Limits

    given = {
        "cpu_s": cpu_s, "wall_s": wall_s, "memory_mib": memory_mib, "processes": processes,
        "disk_mib": disk_mib, "output_kib": output_kib,
    }  # fmt: skip
    changed = {name: value for name, value in given.items() if value is not None}
    for name, value in changed.items():
        if not value > 0:
            flag = f"--{name.replace('_', '-')}"
            raise UserError(f"{flag} {value}: must be above 0", hint="leave it out for the default")
    limits = msgspec.structs.replace(Limits(), **changed)
    laid = {path.name: path.read_bytes() for path in files}
    done = execute(Program(argv=argv, files=laid, loopback=loopback), limits)
    if as_json:
        click.echo(encode(done).decode())
    else:
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.buffer.flush()
        sys.stderr.buffer.write(done.stderr)
        how = f"signal {done.signal}" if done.exit_code is None else f"exit {done.exit_code}"
        lines = [
            f"{done.status.value} ({how}), {done.cpu_s:.3f} s of CPU in {done.wall_s:.3f} s, "
            f"peak {done.peak_memory_kib / 1024:.1f} MiB",
            walls(done.isolation),
            *([done.note] if done.note else []),
        ]
        click.echo("\n".join(lines), err=True)
    sys.exit(0 if done.status is ExecutionStatus.OK else 1)
