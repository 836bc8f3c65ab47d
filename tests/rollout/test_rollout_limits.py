"""Budgets and fault monitors by themselves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.errors import BoundaryError, UserError
from quintain.rollout import Budget, FaultMonitor
from quintain.testing import FakeClock


@given(st.integers(0, 100), st.integers(0, 100), st.lists(st.integers(1, 20)))
def test_a_budget_never_accepts_more_than_it_has_and_stays_shut(
    most: int, used: int, wanted: list[int]
) -> None:
    budget = Budget(max_trials=most, used=used)
    answers = [budget.accept(trials) for trials in wanted]
    assert budget.used == used + sum(t for t, yes in zip(wanted, answers, strict=True) if yes)
    assert budget.used <= max(most, used)
    assert answers == sorted(answers, reverse=True)
    assert bool(budget.stopped) == (False in answers)


def test_a_budget_without_limits_accepts_everything() -> None:
    budget = Budget()
    assert all(budget.accept(10**9) for _ in range(10))
    assert budget.stopped == ""


def test_seconds_count_from_when_the_budget_is_made() -> None:
    clock = FakeClock(1000.0)
    budget = Budget(max_seconds=5, clock=clock)
    clock.advance(4.9)
    assert budget.accept(1)
    clock.advance(0.1)
    assert not budget.accept(1)


@pytest.mark.parametrize("limits", [(-1, None), (None, -1.0), (None, math.nan)])
def test_a_budget_of_nonsense_is_refused(limits: tuple[int | None, float | None]) -> None:
    with pytest.raises(UserError, match="budget"):
        Budget(max_trials=limits[0], max_seconds=limits[1])


def test_few_trials_say_nothing_and_a_share_at_the_limit_is_tolerated() -> None:
    monitor = FaultMonitor(limit=0.5, after=4)
    for reason in ("a", "b", None, None, None, "a"):
        monitor.count(reason)
    assert monitor.share == 0.5


def test_a_share_past_the_limit_names_the_commonest_reason() -> None:
    monitor = FaultMonitor(limit=0.5, after=4)
    for reason in ("flood", "fire", "fire"):
        monitor.count(reason)
    with pytest.raises(BoundaryError, match=r"4 of the last 4 .* \(3 times\): fire"):
        monitor.count("fire")


def test_a_long_healthy_past_does_not_hide_a_dead_sandbox() -> None:
    monitor = FaultMonitor(limit=0.2, after=32, window=100)
    for _ in range(10_000):
        monitor.count(None)
    for _ in range(20):
        monitor.count("dead")
    with pytest.raises(BoundaryError, match="21 of the last 100"):
        monitor.count("dead")


@pytest.mark.parametrize("numbers", [(1.5, 32, 256), (math.nan, 32, 256), (0.2, 0, 8), (0.2, 9, 8)])
def test_a_monitor_of_nonsense_is_refused(numbers: tuple[float, int, int]) -> None:
    limit, after, window = numbers
    with pytest.raises(UserError, match="fault monitor"):
        FaultMonitor(limit=limit, after=after, window=window)
