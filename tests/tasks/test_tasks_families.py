from __future__ import annotations

import pytest
from golden_tasks import golden_lines, golden_path
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.codec import decode
from quintain.errors import TaskError, UserError
from quintain.tasks import FAMILIES, Family, completion_interface, describe, split_of, stream
from quintain.types import Split, Task

families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
LEVELS = [
    pytest.param(family, level, id=f"{family.name}-{level}")
    for family in FAMILIES
    for level in range(1, family.levels + 1)
]
levels = pytest.mark.parametrize(("family", "level"), LEVELS)
any_family = st.sampled_from(FAMILIES)
any_level = st.integers(1, 6)
any_seed = st.integers(0, 2**40)


@settings(deadline=None, max_examples=40)
@given(any_family, any_level, any_level, any_seed, any_seed, st.integers(1, 12))
def test_no_problem_is_on_both_sides_at_any_seed_level_or_size(
    family: Family, level: int, other: int, seed: int, other_seed: int, count: int
) -> None:
    train = stream(family, level, Split.TRAIN, seed, count)
    held_out = stream(family, other, Split.HELD_OUT, other_seed, count)
    assert not {task.id for task in train} & {task.id for task in held_out}
    for task in train + held_out:
        assert split_of(family.name, task.problem) is task.split


@settings(deadline=None, max_examples=40)
@given(any_family, any_level, st.sampled_from(Split), st.integers(0, 10**9), any_seed)
def test_a_task_is_a_pure_function_of_its_arguments(
    family: Family, level: int, split: Split, index: int, seed: int
) -> None:
    task = family.generate(level, split, index, seed)
    assert family.generate(level, split, index, seed) == task
    assert (task.level, task.split, task.family) == (level, split, family.name)
    assert task.prompt.count("\n") == 0
    assert task.gold not in {wrong.text for wrong in task.wrong}
    assert task.wrong


@settings(deadline=None, max_examples=20)
@given(any_family, any_level, st.sampled_from(Split), any_seed)
def test_a_stream_has_each_problem_once_and_a_longer_one_begins_with_it(
    family: Family, level: int, split: Split, seed: int
) -> None:
    tasks = stream(family, level, split, seed, 20)
    assert len({task.id for task in tasks}) == 20
    assert stream(family, level, split, seed, 8) == tasks[:8]


@levels
def test_different_seeds_give_different_streams(family: Family, level: int) -> None:
    problems = [
        {task.problem for task in stream(family, level, Split.TRAIN, seed, 12)} for seed in (0, 1)
    ]
    assert problems[0] != problems[1]


@families
def test_excluded_problems_do_not_come_back(family: Family) -> None:
    first = stream(family, 1, Split.HELD_OUT, 0, 20)
    again = stream(family, 1, Split.HELD_OUT, 0, 20, exclude=[task.id for task in first])
    assert not {task.id for task in first} & {task.id for task in again}


@levels
def test_every_level_has_many_problems(family: Family, level: int) -> None:
    count = 60 if (family.name, level) == ("string_expression", 1) else 500
    assert len(stream(family, level, Split.HELD_OUT, 5, count)) == count


def test_an_exhausted_stream_names_its_family_and_level() -> None:
    with pytest.raises(TaskError, match="string_expression level 1 ran out of held_out"):
        stream(FAMILIES[0], 1, Split.HELD_OUT, 0, 5000)


@families
@pytest.mark.parametrize("level", [0, -1, 7])
def test_a_level_that_does_not_exist_is_refused(family: Family, level: int) -> None:
    with pytest.raises(UserError, match=f"{family.name} has no level {level}"):
        stream(family, level, Split.TRAIN, 0, 1)


def part(task: Task, name: str) -> str:
    """The value of a part of the phrasing, for instance of ``wording``."""
    return dict(pair.split("=") for pair in task.phrasing.split(" ")[:2])[name]


@levels
def test_training_meets_seen_wordings_and_combinations_alone(family: Family, level: int) -> None:
    for task in stream(family, level, Split.TRAIN, 3, 60):
        assert part(task, "wording") == "seen"
        assert part(task, "combination") == "seen"


@levels
def test_held_out_tasks_mix_seen_and_unseen_wordings(family: Family, level: int) -> None:
    tasks = stream(family, level, Split.HELD_OUT, 3, 60)
    unseen = sum(part(task, "wording") == "unseen" for task in tasks)
    assert 12 <= unseen <= 48


@pytest.mark.parametrize(
    ("family", "level"),
    [
        param
        for param in LEVELS
        if "-1" not in str(param.id)
        and "-2" not in str(param.id)
        and param.id != "number_problems-3"
    ],
)
def test_held_out_tasks_have_combinations_that_training_never_has(
    family: Family, level: int
) -> None:
    tasks = stream(family, level, Split.HELD_OUT, 3, 60)
    unseen = sum(part(task, "combination") == "unseen" for task in tasks)
    assert 12 <= unseen <= 54


@levels
def test_training_prompts_never_occur_among_held_out_prompts(family: Family, level: int) -> None:
    train = {task.prompt for task in stream(family, level, Split.TRAIN, 0, 120)}
    held_out = {task.prompt for task in stream(family, level, Split.HELD_OUT, 0, 60)}
    assert not train & held_out


@families
def test_the_first_tasks_of_each_level_are_the_golden_ones(family: Family) -> None:
    golden = golden_path(family).read_text().splitlines()
    assert golden_lines(family) == golden, "see golden_tasks.py for how to regenerate"
    assert [decode(line, Task, where=family.name).family for line in golden]


@families
def test_a_description_shows_what_a_person_needs_to_check(family: Family) -> None:
    task = family.generate(3, Split.TRAIN, 0, 0)
    text = describe(task)
    for needed in (task.prompt, task.gold, *(wrong.text for wrong in task.wrong)):
        assert needed in text


@families
def test_worked_examples_of_the_prompt_are_on_neither_side(family: Family) -> None:
    template = completion_interface(family.name).template
    assert "{prompt}\n" in template
    for level in range(1, 4):
        for split in Split:
            for task in stream(family, level, split, 0, 60 if level == 1 else 200):
                framed = (f"\n{template}").replace("\n# ", "\n").replace("\nreturn ", "\n")
                assert f"\n{task.prompt}\n{task.gold}\n" not in framed


def test_a_family_without_a_completion_interface_is_named() -> None:
    with pytest.raises(UserError, match="chess"):
        completion_interface("chess")
