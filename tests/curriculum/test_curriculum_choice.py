"""The curriculum as mathematics."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quintain.curriculum
from quintain.codec import decode, encode
from quintain.curriculum import (
    Curriculum,
    Settings,
    choose,
    solve_rate,
    start,
    update,
    weights,
)
from quintain.errors import UserError
from quintain.ids import rng

SETTINGS = st.builds(
    Settings,
    floor=st.floats(0.01, 1),
    half_life=st.floats(1, 1e6),
    strength=st.floats(0.1, 100),
    first=st.floats(0.01, 0.99),
    step=st.floats(0.1, 0.99),
)


@st.composite
def states(draw: st.DrawFn) -> Curriculum:
    levels = draw(st.dictionaries(st.sampled_from("abc"), st.integers(1, 8), min_size=1))
    shares = {family: draw(st.floats(0.01, 10)) for family in levels}
    state = start(levels, shares=shares, settings=draw(SETTINGS))
    for _ in range(draw(st.integers(0, 12))):
        family = draw(st.sampled_from(sorted(levels)))
        total = draw(st.integers(0, 500))
        state = update(
            state,
            family,
            draw(st.integers(1, levels[family])),
            solved=draw(st.integers(0, total)),
            total=total,
        )
    return state


@given(states())
def test_weights_are_positive_and_sum_to_one(state: Curriculum) -> None:
    found = weights(state)
    assert all(weight > 0 for weight in found.values())
    assert math.fsum(found.values()) == pytest.approx(1)


@given(states())
def test_every_level_keeps_its_floor_and_every_family_its_share(state: Curriculum) -> None:
    found = weights(state)
    for family, memory in state.levels.items():
        share = state.shares[family]
        of_family = [found[family, level] for level in range(1, len(memory) + 1)]
        assert math.fsum(of_family) == pytest.approx(share)
        least = share * state.settings.floor / len(memory)
        assert all(weight >= least * (1 - 1e-9) for weight in of_family)


@given(states(), st.integers(0, 200), st.integers(0, 2**32))
def test_choices_stay_within_one_of_their_expectation(
    state: Curriculum, count: int, seed: int
) -> None:
    chosen = Counter(choose(random.Random(seed), state, count))
    assert chosen.total() == count
    for pair, weight in weights(state).items():
        assert abs(chosen[pair] - weight * count) < 1 + 1e-6


def test_choices_are_unbiased_over_seeds() -> None:
    state = start({"a": 3, "b": 2}, shares={"a": 3, "b": 1})
    chosen: Counter[tuple[str, int]] = Counter()
    for seed in range(4000):
        chosen.update(choose(rng("choices", seed), state, 3))
    for pair, weight in weights(state).items():
        # systematic draws vary less than independent ones, whose deviation this is
        deviation = math.sqrt(12_000 * weight * (1 - weight))
        assert abs(chosen[pair] - 12_000 * weight) < 4 * deviation


@given(states(), st.integers(0, 50), st.integers(0, 2**32))
def test_equal_states_and_seeds_choose_alike(state: Curriculum, count: int, seed: int) -> None:
    copy = decode(encode(state), Curriculum, where="here")
    assert copy == state
    assert choose(random.Random(seed), state, count) == choose(random.Random(seed), copy, count)


@given(states(), st.integers(1, 300))
def test_success_raises_the_believed_rate_of_a_level_and_of_those_above(
    state: Curriculum, total: int
) -> None:
    for family, memory in state.levels.items():
        better = update(state, family, 1, solved=total, total=total)
        worse = update(state, family, 1, solved=0, total=total)
        for level in range(1, len(memory) + 1):
            assert 0 < solve_rate(worse, family, level) < 1
            assert solve_rate(worse, family, level) <= solve_rate(better, family, level)


def test_without_evidence_lower_levels_come_first() -> None:
    found = weights(start({"a": 5}))
    assert [found["a", level] for level in range(1, 6)] == sorted(found.values(), reverse=True)


def test_mastering_a_level_moves_weight_to_the_next_and_failing_does_not() -> None:
    state = start({"a": 3})
    mastered = update(state, "a", 1, solved=256, total=256)
    failed = update(state, "a", 1, solved=0, total=256)
    assert weights(mastered)["a", 2] > weights(state)["a", 2]
    assert weights(mastered)["a", 2] > weights(mastered)["a", 1]
    assert weights(failed)["a", 2] > weights(failed)["a", 3]
    assert solve_rate(failed, "a", 2) < 0.05


def test_half_solved_levels_get_the_most() -> None:
    state = start({"a": 3})
    for level, solved in ((1, 250), (2, 128), (3, 6)):
        state = update(state, "a", level, solved=solved, total=256)
    found = weights(state)
    assert max(found, key=lambda pair: found[pair]) == ("a", 2)


def test_old_evidence_fades_by_half_in_a_half_life() -> None:
    state = start({"a": 1}, settings=Settings(half_life=100))
    state = update(state, "a", 1, solved=40, total=40)
    state = update(state, "a", 1, solved=0, total=100)
    assert state.levels["a"][0].solved == pytest.approx(20)
    assert state.levels["a"][0].unsolved == pytest.approx(100)


def test_a_simulated_learner_is_led_up_the_ladder() -> None:
    """A level is learnt by trying it, but only when the one below is."""
    draw = rng("learner")
    skill = [0.3, 0.0, 0.0, 0.0]
    state = start({"a": 4}, settings=Settings(half_life=64))
    for _ in range(700):
        attempts = Counter(level for _, level in choose(draw, state, 32))
        for level, total in attempts.items():
            solved = sum(draw.random() < skill[level - 1] for _ in range(total))
            state = update(state, "a", level, solved=solved, total=total)
            below = skill[level - 2] if level > 1 else 1.0
            skill[level - 1] += below * 0.001 * total * (0.98 - skill[level - 1])
    assert min(skill) > 0.9


def test_a_family_without_share_is_never_chosen() -> None:
    state = start({"a": 2, "b": 2}, shares={"a": 1, "b": 0})
    for seed in range(50):
        assert {family for family, _ in choose(random.Random(seed), state, 7)} == {"a"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: start({}),
        lambda: start({"a": 0}),
        lambda: start({"a": 1}, shares={"b": 1}),
        lambda: start({"a": 1}, shares={"a": 0}),
        lambda: start({"a": 1}, shares={"a": math.nan}),
        lambda: start({"a": 1}, settings=Settings(floor=0)),
        lambda: start({"a": 1}, settings=Settings(half_life=math.nan)),
        lambda: update(start({"a": 1}), "b", 1, solved=0, total=1),
        lambda: update(start({"a": 1}), "a", 2, solved=0, total=1),
        lambda: update(start({"a": 1}), "a", 0, solved=0, total=1),
        lambda: update(start({"a": 1}), "a", 1, solved=2, total=1),
        lambda: choose(random.Random(0), start({"a": 1}), -1),
    ],
)
def test_numbers_that_make_no_sense_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(UserError, match="curriculum"):
        make()


def test_every_exported_name_exists_once() -> None:
    names = quintain.curriculum.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(quintain.curriculum, name) for name in names)
