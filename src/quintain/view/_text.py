"""Numbers and sentences for people; the same words on the page and in the terminal."""

from __future__ import annotations

import html
import unicodedata

from quintain.evaluate import Paired
from quintain.view._model import Result

__all__ = [
    "count",
    "duration",
    "escape",
    "interval",
    "percent",
    "points",
    "verdict",
    "visible",
]

_KEEP = {"\n", "\t"}


def visible(text: str) -> str:
    r"""Show control, formatting and bidirectional characters as escapes.

    A submission can otherwise reorder the line it is shown on, or write to a terminal.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(
        c if c in _KEEP or unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        else c.encode("unicode_escape").decode()
        for c in text
    )  # fmt: skip


def escape(text: str) -> str:
    """Make any text safe inside HTML elements and quoted attributes."""
    return html.escape(visible(text), quote=True)


def percent(rate: float | None) -> str:
    """Write a rate as a percentage with one decimal, or a dash when there is none."""
    return "–" if rate is None else f"{100 * rate:.1f}%"


def points(change: float) -> str:
    """Write a difference of rates in percentage points, with its sign."""
    value = round(100 * change, 1)
    sign = "+" if value > 0 else "−" if value < 0 else "±"
    return f"{sign}{abs(value):.1f}"


def interval(change: Paired) -> str:
    """Write the 95 % interval of a change in points, or that there is none."""
    if change.ci95 is None:
        return "not estimable"
    return f"{points(change.ci95[0])} to {points(change.ci95[1])}"


def count(number: int, noun: str) -> str:
    """Write a number with its noun, plural unless it is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Write seconds as a length of time with two units."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def verdict(result: Result) -> str:
    """Say in one or two sentences whether the policy got better.

    Sampled passes decide, because k samples a task carry more evidence than one greedy answer;
    greedy passes stand in when nothing was sampled.
    """
    change = result.sampled or result.greedy
    if change is None:
        return "Nothing was measured on held-out tasks, so nothing can be said."
    rates = (
        f"The {change.metric} pass rate on {count(change.n, 'task')} that training never saw "
        f"went from {percent(change.before)} to {percent(change.after)}"
    )
    if change.ci95 is None:
        return f"Not enough evidence. {rates}, but fewer than two of them are independent."
    spread = f"{points(change.delta)} points, 95% interval {interval(change)}"
    if change.distinguishable:
        opening = "Better." if change.delta > 0 else "Worse."
        return f"{opening} {rates}: {spread}."
    floor = "" if change.mde is None else (
        f" A change below about {100 * change.mde:.1f} points could not have been told apart."
    )  # fmt: skip
    return f"Not distinguishable from no change. {rates}: {spread}.{floor}"
