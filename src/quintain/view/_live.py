"""Progress of a living run, on stderr: one quiet display in a terminal, plain lines in a file.

Driven by plain calls, so any engine can feed it; it starts no task and never raises on what it is
fed. It shows running figures, not results: rewards are means over the phase's last trials, and
over the last steps.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from quintain.view._text import duration, percent, visible

__all__ = ["Progress", "open_progress"]

_RATE_WINDOW_S = 30.0
_LINE_EVERY_S = 10.0
_RECENT_TRIALS, _RECENT_STEPS = 200, 10
_BAR_WIDTH = 36


@contextmanager
def open_progress(
    *,
    json: bool = False,
    console: Console | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Progress]:
    """Show progress while the block runs.

    In a terminal a display is redrawn in place and cleared at the end; elsewhere a line is
    printed at every phase and about every 10 s; with ``json`` nothing is shown at all.

    ::

        with open_progress() as progress:
            progress.phase("train", trials=640)
            progress.trial(1.0)
    """
    console = console or Console(stderr=True)
    if json:
        yield Progress(clock)
    elif console.is_terminal:
        progress = Progress(clock)
        with Live(
            get_renderable=progress.render, console=console, refresh_per_second=4, transient=True
        ):
            yield progress
    else:
        yield Progress(clock, lambda line: console.print(
            line, markup=False, highlight=False, soft_wrap=True, emoji=False
        ))  # fmt: skip


class Progress:
    """Running figures of a run; call its methods as things happen."""

    def __init__(self, clock: Callable[[], float], emit: Callable[[str], None] | None = None):
        self._clock, self._emit = clock, emit
        self._started = self._line_at = self._phase_at = clock()
        self._phase, self._phase_trials, self._phase_total = "starting", 0, 0
        self._step, self._steps, self._steps_seen, self._stepping_since = 0, 0, 0, 0.0
        self._recent: dict[str, deque[float]] = {}
        self._step_rewards: deque[float] = deque(maxlen=_RECENT_STEPS)
        self._finished: deque[float] = deque()
        self._held_out: tuple[int, float | None] | None = None
        self.trials = self.invalid = 0

    def phase(self, name: str, *, trials: int = 0) -> None:
        """Enter a phase; ``trials`` is how many it will make, 0 when unknown."""
        self._phase, self._phase_at = visible(name), self._clock()
        self._phase_trials, self._phase_total = 0, trials
        self._say()

    def trial(self, reward: float | None) -> None:
        """Count a finished trial; None for an invalid one."""
        now = self._clock()
        self.trials += 1
        self._phase_trials += 1
        self._finished.append(now)
        if reward is None:
            self.invalid += 1
        else:
            recent = self._recent.setdefault(self._phase, deque(maxlen=_RECENT_TRIALS))
            recent.append(reward)
        self._say(only_when_due=True)

    def step(self, step: int, total: int, reward: float | None = None) -> None:
        """Note a finished training step, ``step`` of ``total`` counted from 1."""
        if not self._steps_seen:
            self._stepping_since = self._phase_at
        self._step, self._steps = step, total
        self._steps_seen += 1
        if reward is not None:
            self._step_rewards.append(reward)
        self._say(only_when_due=True)

    def held_out(self, step: int, rate: float | None) -> None:
        """Note the latest held-out pass rate."""
        self._held_out = (step, rate)
        self._say()

    def rate(self) -> float:
        """Trials a second over the last half minute."""
        now = self._clock()
        while self._finished and self._finished[0] < now - _RATE_WINDOW_S:
            self._finished.popleft()
        span = min(_RATE_WINDOW_S, now - self._started)
        return len(self._finished) / span if span > 0 else 0.0

    def left_s(self) -> float | None:
        """Seconds left at the pace so far: of the training once steps are known, else the phase."""
        now = self._clock()
        if self._steps_seen and self._step < self._steps:
            return (now - self._stepping_since) / self._steps_seen * (self._steps - self._step)
        if self._phase_trials and self._phase_total > self._phase_trials:
            missing = self._phase_total - self._phase_trials
            return (now - self._phase_at) / self._phase_trials * missing
        return None

    def figures(self) -> list[str]:
        """Return what is known now, one short text a figure."""
        parts = []
        if self._phase_total:
            parts.append(f"{self._phase_trials:,}/{self._phase_total:,} trials")
        recent = self._recent.get(self._phase)
        if recent:
            parts.append(f"reward {sum(recent) / len(recent):.2f}")
        if self._step_rewards:
            mean = sum(self._step_rewards) / len(self._step_rewards)
            parts.append(f"training reward {mean:.2f}")
        if self._held_out:
            step, rate = self._held_out
            parts.append(f"held-out {percent(rate)} (step {step})")
        parts.append(f"{self.rate():.1f} trials/s")
        if self.invalid:
            parts.append(f"{self.invalid:,} invalid")
        left = self.left_s()
        if left is not None:
            parts.append(f"about {duration(left)} left")
        return parts

    def heading(self) -> str:
        """Return the phase and, once known, the step."""
        return f"{self._phase} · step {self._step}/{self._steps}" if self._steps else self._phase

    def line(self) -> str:
        """Return everything on one line, for logs."""
        elapsed = duration(self._clock() - self._started)
        return " · ".join((f"[{elapsed}] {self.heading()}", *self.figures()))

    def render(self) -> Group:
        """Return the display for a terminal."""
        top = Table.grid(padding=(0, 2))
        done, total = (self._step, self._steps) if self._steps else (
            self._phase_trials, self._phase_total
        )  # fmt: skip
        elapsed = Text(duration(self._clock() - self._started), style="dim")
        bar = ProgressBar(total=max(1, total), completed=min(done, total), width=_BAR_WIDTH)
        top.add_row(Text(self.heading(), style="bold"), bar, elapsed)
        return Group(top, Text("  ".join(self.figures()), style="dim"))

    def _say(self, *, only_when_due: bool = False) -> None:
        if self._emit is None:
            return
        now = self._clock()
        if not only_when_due or now - self._line_at >= _LINE_EVERY_S:
            self._line_at = now
            self._emit(self.line())
