"""Progress is quiet, truthful, and follows where it is shown."""

from __future__ import annotations

import io

from rich.console import Console

from quintain.view import Progress, open_progress


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def a_console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    shown = io.StringIO()
    return Console(file=shown, force_terminal=terminal, width=100, color_system=None), shown


def test_a_file_gets_a_line_a_phase_and_one_about_every_ten_seconds() -> None:
    clock, (console, shown) = Clock(), a_console(terminal=False)
    with open_progress(console=console, clock=clock) as progress:
        progress.phase("train", trials=100)
        for _ in range(50):
            clock.now += 0.5
            progress.trial(1.0)
    lines = shown.getvalue().splitlines()
    assert [line.split("]")[0] for line in lines] == ["[0.0 s", "[10 s", "[20 s"]
    assert lines[1].endswith("train · 20/100 trials · reward 1.00 · 2.0 trials/s · about 40 s left")


def test_json_output_is_accompanied_by_silence() -> None:
    for terminal in (True, False):
        clock, (console, shown) = Clock(), a_console(terminal=terminal)
        with open_progress(json=True, console=console, clock=clock) as progress:
            progress.phase("train")
            clock.now += 60
            progress.trial(None)
            progress.held_out(1, 0.5)
        assert shown.getvalue() == ""
        assert (progress.trials, progress.invalid) == (1, 1)


def test_a_terminal_shows_the_run_and_is_left_clean() -> None:
    clock, (console, shown) = Clock(), a_console(terminal=True)
    with open_progress(console=console, clock=clock) as progress:
        progress.phase("train")
        progress.step(3, 12, 0.4)
    assert "train · step 3/12" in shown.getvalue()
    assert "training reward 0.40" in shown.getvalue()
    assert shown.getvalue().rstrip("\r\n").endswith("\x1b[2K")  # the last thing drawn is erased


def test_invalid_trials_are_counted_and_leave_the_reward_alone() -> None:
    progress = Progress(Clock())
    progress.phase("train")
    for reward in (1.0, None, 0.0, None):
        progress.trial(reward)
    assert (progress.trials, progress.invalid) == (4, 2)
    assert "reward 0.50" in progress.figures()
    assert "2 invalid" in progress.figures()


def test_trials_of_an_evaluation_do_not_pass_for_training_reward() -> None:
    progress = Progress(Clock())
    progress.phase("train")
    progress.trial(1.0)
    progress.phase("evaluate")
    progress.trial(0.0)
    assert "reward 0.00" in progress.figures()
    progress.phase("train")
    assert "reward 1.00" in progress.figures()


def test_time_left_follows_the_pace_of_the_steps_after_a_resume() -> None:
    clock = Clock()
    progress = Progress(clock)
    progress.phase("train")
    for step in (41, 42):
        clock.now += 5
        progress.step(step, 50)
    assert progress.left_s() == 40.0
    progress.step(50, 50)
    assert progress.left_s() is None


def test_the_rate_forgets_what_is_older_than_half_a_minute() -> None:
    clock = Clock()
    progress = Progress(clock)
    clock.now += 10
    for _ in range(30):
        progress.trial(1.0)
    assert progress.rate() == 3.0
    clock.now += 31
    assert progress.rate() == 0.0


def test_held_out_is_shown_with_the_step_it_was_measured_at() -> None:
    progress = Progress(Clock())
    progress.held_out(20, 0.382)
    assert "held-out 38.2% (step 20)" in progress.figures()
    progress.held_out(40, None)
    assert "held-out – (step 40)" in progress.figures()


def test_markup_and_control_characters_in_names_stay_text() -> None:
    clock, (console, shown) = Clock(), a_console(terminal=False)
    with open_progress(console=console, clock=clock) as progress:
        progress.phase("[red]\x1b[2Jx :smile:")
    assert "[red]\\x1b[2Jx :smile:" in shown.getvalue()
