"""How every script here reports: figures against stated bounds, as text, JSON and a page.

Invariant: a page names no path and no name of the host, and says ``not run`` with the reason where
the host cannot show the thing at all; that is no failure. A bound that is missed exits with 1.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from quintain import __version__
from quintain.errors import UserError

__all__ = ["Bound", "CannotRun", "Seen", "at_least", "at_most", "equal", "main"]

_REPOSITORY = Path(__file__).resolve().parents[1]


class CannotRun(Exception):  # noqa: N818  it is no error: the page says so and the rest goes on
    """Raised by a script that this host cannot run; the message is the reason."""


class Bound(msgspec.Struct, frozen=True):
    """A figure that was promised, and what was seen."""

    what: str
    seen: float
    relation: str
    limit: float
    holds: bool


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a script saw."""

    bounds: tuple[Bound, ...]
    figures: dict[str, str]
    """Everything else worth knowing, ready to be printed."""
    notes: tuple[str, ...] = ()


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed with ``--json``, and what the page is made of."""

    name: str
    command: str
    shows: str
    status: str
    """``pass``, ``fail`` or ``not run``."""
    reason: str
    machine: dict[str, str]
    seconds: float
    seen: Seen


def at_most(what: str, seen: float, limit: float) -> Bound:
    """State an upper bound."""
    return Bound(what, seen, "at most", limit, seen <= limit)


def at_least(what: str, seen: float, limit: float) -> Bound:
    """State a lower bound."""
    return Bound(what, seen, "at least", limit, seen >= limit)


def equal(what: str, seen: float, limit: float) -> Bound:
    """State a figure that must be met exactly."""
    return Bound(what, seen, "exactly", limit, seen == limit)


def main(
    script: str,
    doc: str | None,
    check: Callable[[argparse.Namespace], Seen],
    options: Sequence[tuple[str, int, str]] = (),
) -> None:
    """Run one check and report; ``options`` are its numbers: name, default, what it counts."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write DIR/NAME.md too")
    for name, default, counts in options:
        parser.add_argument(f"--{name}", type=int, default=default, help=counts)
    arguments = parser.parse_args()
    name, started, reason = Path(script).stem, time.monotonic(), ""
    seen = Seen(bounds=(), figures={})
    try:
        seen = check(arguments)
    except CannotRun as error:
        reason = str(error)
    except UserError as error:  # a wall that this host cannot raise
        reason = str(error)
    failed = not all(bound.holds for bound in seen.bounds)
    given = [f"--{key} {getattr(arguments, key)}" for key, default, _ in options]
    page = Page(
        name=name,
        command=" ".join(["python", f"evidence/{name}.py", *given]),
        shows=(doc or "").strip(),
        status="not run" if reason else "fail" if failed else "pass",
        reason=_scrubbed(" ".join(reason.split())),
        machine=_machine(),
        seconds=round(time.monotonic() - started, 1),
        seen=seen,
    )
    text = _scrubbed(_markdown(page))
    if arguments.write:
        arguments.write.mkdir(parents=True, exist_ok=True)
        (arguments.write / f"{name}.md").write_text(text)
    sys.stdout.write(msgspec.json.encode(page).decode() + "\n" if arguments.json else text)
    sys.exit(failed)


def _markdown(page: Page) -> str:
    lines = [f"# {page.name}: {page.status}", "", page.shows, "", "```", page.command, "```", ""]
    if page.reason:
        lines += [f"Not run: {page.reason}", ""]
    if page.seen.bounds:
        lines += ["| bound | seen | promised | |", "|---|---|---|---|"]
        lines += [_row(bound) for bound in page.seen.bounds] + [""]
    if page.seen.figures:
        lines += ["| figure | |", "|---|---|"]
        lines += [f"| {what} | {value} |" for what, value in page.seen.figures.items()] + [""]
    lines += [line for note in page.seen.notes for line in (note, "")]
    machine = ", ".join(f"{key} {value}" for key, value in page.machine.items())
    return "\n".join([*lines, f"Took {page.seconds} s. Machine: {machine}."]) + "\n"


def _row(bound: Bound) -> str:
    verdict = "holds" if bound.holds else "**missed**"
    return f"| {bound.what} | {bound.seen:.6g} | {bound.relation} {bound.limit:g} | {verdict} |"


def _machine() -> dict[str, str]:
    unified = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = {
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory / (1 << 30):.0f} GiB",
        "kernel": ".".join(platform.release().split(".")[:2]),
        "control groups": "v2" if unified else "v1",
        "python": platform.python_version(),
        "user": "root" if os.getuid() == 0 else "ordinary",
        "quintain": __version__,
    }
    commit = _commit()
    return {**found, "commit": commit} if commit else found


def _commit() -> str:
    command = ["git", "-C", str(_REPOSITORY), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _scrubbed(text: str) -> str:
    """Replace what would name the host or its folders."""
    hidden = {
        str(_REPOSITORY): "REPOSITORY",
        sys.prefix: "ENVIRONMENT",
        str(Path.home()): "HOME",
        tempfile.gettempdir(): "TEMP",
        platform.node(): "HOST",
    }
    for secret, word in sorted(hidden.items(), key=lambda pair: -len(pair[0])):
        if len(secret) > 3:  # "/tmp" and longer: a short name would hit ordinary words
            text = text.replace(secret, word)
    return text
