"""Tables of the report: changes with intervals, heat maps, the time bar, name and value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from quintain.evaluate import Paired
from quintain.view._model import LevelCell, Result, TimeSpent
from quintain.view._text import duration, escape, interval, percent, points

__all__ = ["changes_table", "facts_table", "heat_maps", "time_bar"]

# one hue, so that no part of the bar looks like an alarm
_TINTS = (
    *(f"color-mix(in srgb, var(--blue) {share}%, var(--card))" for share in (95, 72, 50, 30)),
    "color-mix(in srgb, var(--grey) 45%, var(--card))",
)


def changes_table(results: Sequence[Result]) -> str:
    """One row a result: base, final, change and a drawn interval on a common axis.

    The last result is the total of the others.
    """
    changes = [result.sampled or result.greedy for result in results]
    axis = _Axis([change for change in changes if change is not None])
    rows = "".join(
        _change_row(result, change, axis, total=result is results[-1])
        for result, change in zip(results, changes, strict=True)
    )
    return (
        '<table><tr><th></th><th class="n more">tasks</th><th class="n">base</th>'
        '<th class="n">final</th><th class="n">change (95%)</th>'
        f'<th class="more">{axis.labels()}</th></tr>{rows}</table>'
    )


class _Axis:
    """A common scale for drawn intervals: from the lowest end to the highest, and always 0."""

    def __init__(self, changes: Sequence[Paired]) -> None:
        ends = [end for c in changes for end in (c.ci95 or (c.delta, c.delta))]
        self.left = max(-1.0, min(-0.25, math.floor(4 * min(ends, default=0.0)) / 4))
        self.right = min(1.0, max(0.25, math.ceil(4 * max(ends, default=0.0)) / 4))

    def at(self, value: float) -> float:
        """Place a change on the axis, in percent of its width."""
        share = (value - self.left) / (self.right - self.left)
        return 100 * min(1.0, max(0.0, share))

    def labels(self) -> str:
        """Label both ends and zero."""
        return (
            f'<div class="axis"><span>{whole_points(self.left)}</span>'
            f'<span style="left:{self.at(0):.2f}%">0</span>'
            f'<span style="left:100%">{whole_points(self.right)}</span></div>'
        )

    def draw(self, change: Paired) -> str:
        """Draw a change and its interval."""
        span = ""
        if change.ci95 is not None:
            lo, hi = (self.at(end) for end in change.ci95)
            span = f'<i class="span" style="left:{lo:.2f}%;width:{hi - lo:.2f}%"></i>'
        return (
            f'<div class="axis"><i class="zero" style="left:{self.at(0):.2f}%"></i>{span}'
            f'<i class="at" style="left:{self.at(change.delta):.2f}%"></i></div>'
        )


def _change_row(result: Result, change: Paired | None, axis: _Axis, *, total: bool) -> str:
    note = f"<small>{escape(result.note)}</small>" if result.note else ""
    row = f'<tr class="total"><td>{escape(result.name)}{note}</td>'
    if not total:
        row = row.replace(' class="total"', "", 1)
    if change is None:
        return f'{row}<td class="n" colspan="4">not measured</td><td class="more"></td></tr>'
    return (
        f'{row}<td class="n more">{change.n:,}</td><td class="n">{percent(change.before)}</td>'
        f'<td class="n">{percent(change.after)}</td>'
        f'<td class="n">{points(change.delta)}<small>{interval(change)}</small></td>'
        f'<td class="iv more">{axis.draw(change)}</td></tr>'
    )


def heat_maps(cells: Sequence[LevelCell]) -> str:
    """Three maps of family by level: before, after and the difference."""
    maps = (
        ("Before", lambda cell: (percent0(cell.before), _tint("grey", cell.before))),
        ("After", lambda cell: (percent0(cell.after), _tint("blue", cell.after))),
        ("Difference, points", _difference),
    )
    width = 170 + 52 * len({cell.level for cell in cells})
    return (
        f'<div class="grid" style="grid-template-columns:'
        f'repeat(auto-fit,minmax(min(100%,{width}px),1fr))">'
        + "".join(
            f'<div class="card scroll"><h3>{name}</h3>{_heat_map(cells, show)}</div>'
            for name, show in maps
        )
        + "</div>"
    )


def percent0(rate: float | None) -> str:
    """Write a rate as a whole percentage, for narrow cells."""
    return "–" if rate is None else f"{100 * rate:.0f}%"


def whole_points(change: float) -> str:
    """Write a difference of rates in whole percentage points, with its sign."""
    return points(round(change, 2)).removesuffix(".0")


def _difference(cell: LevelCell) -> tuple[str, str]:
    if cell.before is None or cell.after is None:
        return "–", ""
    change = cell.after - cell.before
    return whole_points(change), _tint("green" if change > 0 else "red", abs(change))


def _tint(colour: str, strength: float | None) -> str:
    """Mix a colour into the cell, at most to 60 % so that the figure stays readable."""
    if strength is None:
        return ""
    return f"background:color-mix(in srgb, var(--{colour}) {60 * strength:.0f}%, var(--code))"


def _heat_map(cells: Sequence[LevelCell], show: Callable[[LevelCell], tuple[str, str]]) -> str:
    levels = sorted({cell.level for cell in cells})
    at = {(cell.family, cell.level): cell for cell in cells}
    head = "".join(f"<th>{level}</th>" for level in levels)
    rows = []
    for family in sorted({cell.family for cell in cells}):
        row = ""
        for level in levels:
            cell = at.get((family, level))
            if cell is None:
                row += "<td></td>"
                continue
            text, style = show(cell)
            row += f'<td style="{style}">{text}<small>n {cell.n:,}</small></td>'
        rows.append(f"<tr><th>{escape(family)}</th>{row}</tr>")
    return f'<table class="heat"><tr><th></th>{head}</tr>{"".join(rows)}</table>'


def time_bar(time: TimeSpent) -> str:
    """Draw one bar of the run's wall time, with a legend."""
    parts = [(name, s, tint) for (name, s), tint in zip(time.parts(), _TINTS, strict=True) if s > 0]
    bar = "".join(
        f'<i style="flex:{seconds / time.total_s:.4f};background:{tint}"></i>'
        for _, seconds, tint in parts
    )
    legend = "".join(
        f'<li><span class="dot" style="background:{tint}"></span>{name} '
        f"<b>{100 * seconds / time.total_s:.0f}%</b> {duration(seconds)}</li>"
        for name, seconds, tint in parts
    )
    return f'<div class="bar">{bar}</div><ul class="facts">{legend}</ul>'


def facts_table(values: Mapping[str, str]) -> str:
    """Name and value, in the order given."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td><code>{escape(value)}</code></td></tr>"
        for name, value in values.items()
    )
    return f"<table>{rows}</table>"
