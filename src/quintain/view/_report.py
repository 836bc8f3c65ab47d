"""Write the report of a run: one HTML file for people, and a block of text for the terminal."""

from __future__ import annotations

from pathlib import Path

from quintain.errors import UserError
from quintain.evaluate import Paired
from quintain.view._charts import window
from quintain.view._model import RunReport
from quintain.view._page import page
from quintain.view._text import count, duration, interval, percent, points, verdict, visible

__all__ = ["terminal_summary", "write_report"]


def write_report(path: Path, report: RunReport) -> Path:
    """Write the report as one self-contained HTML file, whole or not at all; returns the path.

    Missing folders are made, an older report is replaced. Equal reports give equal bytes.
    Raises `UserError` when the file cannot be written.
    """
    text = page(report)
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise UserError(
            f"{path}: the report cannot be written: {error.strerror}",
            hint="choose another place with --out",
        ) from error
    return path


def terminal_summary(report: RunReport) -> str:
    """Sum the run up in a few lines; the last ones give base and final held-out pass rates."""
    wall = report.separation
    names = max((len(result.name) for result in report.families), default=0)
    lines = [
        f"{report.title} · {report.recipe} · seed {report.seed}",
        _line("trials", f"{report.trials:,} ({report.invalid:,} invalid, left out)"),
        _line("time", _time(report)),
        _line("reward", _reward(report)),
        _line(
            "held out",
            f"{count(wall.held_out_problems, 'problem')}, overlap with training {wall.overlap:,}",
        ),
        *(
            _line(result.name.ljust(names), _change(result.sampled or result.greedy), indent=4)
            for result in report.families
        ),
        "",
        verdict(report.result),
        _line("held-out sampled", _change(report.result.sampled)),
        _line("held-out greedy", _change(report.result.greedy)),
    ]
    return "\n".join(visible(line) for line in lines)


def _line(name: str, text: str, indent: int = 2) -> str:
    return f"{' ' * indent}{name:<{18 - indent}}  {text}"


def _change(change: Paired | None) -> str:
    if change is None:
        return "not measured"
    return (
        f"base {percent(change.before):>6}  final {percent(change.after):>6}  "
        f"change {points(change.delta)} points (95% interval {interval(change)}; "
        f"{count(change.n, 'task')})"
    )


def _time(report: RunReport) -> str:
    total = report.time.total_s
    if total <= 0:
        return "not measured"
    parts = [f"{name} {100 * s / total:.0f}%" for name, s in report.time.parts() if s > 0]
    return f"{duration(total)}: {', '.join(parts)}"


def _reward(report: RunReport) -> str:
    rewards = [point.reward for point in report.training]
    if not rewards:
        return "no training step"
    width = min(window(len(rewards)), len(rewards))
    first, last = sum(rewards[:width]) / width, sum(rewards[-width:]) / width
    return (
        f"{first:.3f} → {last:.3f} in training (first and last {width} steps of "
        f"{len(rewards)}; not evidence)"
    )
