import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.curriculum import update
from quintain.recipes._draws import (
    CODE,
    demonstrations,
    first_state,
    held_out,
    probe,
    training_tasks,
)
from quintain.recipes._tiny import tiny
from quintain.tasks import bare_interface
from quintain.types import Split

SMALL = msgspec.structs.replace(
    tiny(), held_out_code=30, held_out_maths=12, code_share=0.5, levels=6
)


def test_the_held_out_suite_is_the_same_twice_and_spread_over_levels() -> None:
    suite = held_out(SMALL)
    assert suite == held_out(SMALL)
    assert len({task.id for task in suite}) == 42
    assert {task.split for task in suite} == {Split.HELD_OUT}
    levels = [task.level for task in suite if task.family == CODE.name]
    assert {levels.count(level) for level in range(1, 7)} == {5}


def test_the_held_out_suite_holds_unseen_wordings_and_combinations() -> None:
    suite = held_out(msgspec.structs.replace(SMALL, held_out_code=120))
    for mark in ("wording=unseen", "wording=seen", "combination=unseen", "combination=seen"):
        assert any(mark in task.phrasing for task in suite)


def test_the_probe_is_a_fixed_part_of_the_code_tasks() -> None:
    suite = held_out(SMALL)
    few = probe(msgspec.structs.replace(SMALL, probe_tasks=10), suite)
    assert len({task.id for task in few}) == 10
    assert {task.family for task in few} == {CODE.name}
    assert {task.id for task in few} <= {task.id for task in suite}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**40), step=st.integers(0, 10_000))
def test_what_is_trained_on_is_never_held_out(seed: int, step: int) -> None:
    config = msgspec.structs.replace(SMALL, seed=seed, sft_batch=12, grpo_prompts=6)
    away = {task.id for task in held_out(config)}
    shown = demonstrations(config, step, lambda _: bare_interface())
    tried = training_tasks(config, first_state(config), step)
    tasks = [one.task for one in shown] + tried
    assert {task.split for task in tasks} == {Split.TRAIN}
    assert not away & {task.id for task in tasks}
    assert len({task.variant for task in tried}) == 6


def test_a_step_draws_the_same_tasks_from_the_same_state_and_others_from_another() -> None:
    state = first_state(SMALL)
    assert training_tasks(SMALL, state, 5) == training_tasks(SMALL, state, 5)
    assert training_tasks(SMALL, state, 5) != training_tasks(SMALL, state, 6)
    moved = update(state, CODE.name, 1, solved=200, total=200)
    assert training_tasks(SMALL, state, 5) != training_tasks(SMALL, moved, 5)


def test_wrong_demonstrations_are_known_wrong_answers_in_the_share_asked_for() -> None:
    config = msgspec.structs.replace(SMALL, sft_wrong_share=0.4, sft_batch=200, code_share=1.0)
    shown = demonstrations(config, 0, lambda _: bare_interface())
    wrong = [one for one in shown if one.reply != one.task.gold + "\n"]
    assert 50 < len(wrong) < 110
    for one in wrong:
        assert one.reply.rstrip("\n") in {answer.text for answer in one.task.wrong}
