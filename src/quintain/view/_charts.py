"""Line charts as inline SVG: deterministic bytes, text kept as text, colours from the page.

Each chart is drawn with placeholder colours that become CSS variables, so that one drawing serves
the light and the dark page. Draws only; it decides nothing about the data beyond the running mean.
"""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from quintain.view._model import HeldOutPoint, TrainPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["held_out_chart", "running_mean", "series_chart", "training_chart", "window"]

# placeholder colour in the drawing -> CSS variable on the page
MUTED, GRID, BLUE, AMBER, GREY = "#101011", "#101012", "#101013", "#101014", "#101015"
_VARIABLES = {MUTED: "muted", GRID: "grid", BLUE: "blue", AMBER: "amber", GREY: "grey"}
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "quintain",
    "font.size": 9.0,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.bottom": False,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.major.pad": 5.0,
}
_WIDE, _SMALL = (4.5, 2.7), (3.0, 1.75)


def window(num_steps: int) -> int:
    """Return how many steps the running mean covers: a tenth of the run, at least 5."""
    return max(5, num_steps // 10)


def running_mean(values: Sequence[float], width: int) -> list[float]:
    """Average each value with up to ``width - 1`` before it."""
    spans = (values[max(0, i + 1 - width) : i + 1] for i in range(len(values)))
    return [math.fsum(span) / len(span) for span in spans]


def training_chart(training: Sequence[TrainPoint], last_step: int) -> str:
    """Draw the mean reward of each step, and its running mean."""
    steps, rewards = [p.step for p in training], [p.reward for p in training]

    def paint(axes: Axes) -> None:
        axes.plot(steps, rewards, "o", color=AMBER, alpha=0.32, ms=3, mew=0)
        axes.plot(steps, running_mean(rewards, window(len(rewards))), color=AMBER, lw=1.9)
        _rate_axes(axes, last_step)

    return _draw("Mean training reward by step", _WIDE, paint)


def held_out_chart(points: Sequence[HeldOutPoint], last_step: int) -> str:
    """Draw held-out pass rates: sampled with 95 % intervals, greedy dashed."""
    greedy = [(p.step, p.greedy) for p in points if p.greedy is not None]
    sampled = [(p.step, p.sampled) for p in points if p.sampled is not None]

    def paint(axes: Axes) -> None:
        if greedy:
            axes.plot(*zip(*greedy, strict=True), "--", color=GREY, lw=1.2, marker="s", ms=3, mew=0)
        for p in points:
            if p.ci95 is not None:
                axes.plot([p.step] * 2, p.ci95, color=BLUE, lw=1.6, solid_capstyle="round")
        if sampled:
            axes.plot(*zip(*sampled, strict=True), color=BLUE, lw=1.9, marker="o", ms=5, mew=0)
        _rate_axes(axes, last_step)

    return _draw("Held-out pass rate by step, with 95% intervals", _WIDE, paint)


def series_chart(label: str, points: Sequence[tuple[int, float]], *, share: bool) -> str:
    """Draw one small series from 0 up; ``share`` fixes the axis to 0–100 %."""

    def paint(axes: Axes) -> None:
        axes.plot(*zip(*points, strict=True), color=MUTED, lw=1.4, marker="o", mew=0,
                  ms=3 if len(points) < 20 else 0)  # fmt: skip
        last = max(step for step, _ in points)
        if share:
            _rate_axes(axes, last)
        else:
            axes.set_ylim(0, 1.15 * max(value for _, value in points) or 1)
            axes.locator_params(axis="y", nbins=4)
            _step_axis(axes, last)

    return _draw(label, _SMALL, paint)


def _rate_axes(axes: Axes, last_step: int) -> None:
    """Give every chart of a rate the same scale, so that heights can be compared by eye."""
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    _step_axis(axes, last_step)


def _step_axis(axes: Axes, last_step: int) -> None:
    pad = max(1, last_step) * 0.03
    axes.set_xlim(-pad, max(1, last_step) + pad)
    axes.locator_params(axis="x", integer=True, nbins=6)
    axes.set_xlabel("step")


def _draw(label: str, size: tuple[float, float], paint: Callable[[Axes], None]) -> str:
    # imported here: matplotlib takes most of a second, which a run without a report need not pay
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        paint(figure.add_subplot())
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    return _inline(drawn.getvalue(), label)


def _inline(document: str, label: str) -> str:
    """Cut a drawing down to what an HTML page needs, and hand its colours to the page."""
    body = document[document.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r'<g id="[^"]*"', "<g", body)  # the same in every drawing, so not unique here
    body = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", body)
    box = re.search(r'viewBox="([^"]*)"', body)
    assert box is not None  # noqa: S101 - matplotlib always writes one
    head = (
        f'<svg class="chart" role="img" aria-label="{html.escape(label, quote=True)}" '
        f'viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    body = re.sub(r"<svg[^>]*>", head, body, count=1)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var(--{variable})")
    return re.sub(r"\n\s*", "\n", body).strip()
