from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.judge import parse_number
from quintain.judge._answer import judge_answer
from quintain.tasks import NumberProblems, completion_interface
from quintain.tasks._number_problems import WORKED
from quintain.tasks._number_wordings import LINKS, STORIES, WORDINGS, Wordings
from quintain.types import AnswerSpec, Layer, Split, Submission, Task

FAMILY = NumberProblems()
WORDED = [*WORDINGS.values(), *LINKS.values(), *STORIES.values()]
any_task = st.builds(
    FAMILY.generate,
    st.integers(1, 6),
    st.sampled_from(Split),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)


def score(task: Task, text: str) -> float:
    assert isinstance(task.judge, AnswerSpec)
    return judge_answer(task.judge, Submission(text=text)).score(Layer.FUNCTION)


def solve(problem: str) -> Fraction:
    """Work a problem out from its canonical text, apart from how the family did."""
    if problem.startswith("largest "):
        return Fraction(max(int(number) for number in problem.split()[1:]))
    if " at " in problem:
        count, price = problem.split(" at ")
        return int(count) * Fraction(price)
    value: object = eval(problem.replace("mod", "%"), {"__builtins__": {}})
    assert isinstance(value, int)
    return Fraction(value)


@settings(deadline=None)
@given(any_task)
def test_gold_is_the_value_of_the_problem_and_every_wrong_answer_is_not(task: Task) -> None:
    assert parse_number(task.gold) == solve(task.problem)
    assert score(task, task.gold) == 1
    assert "off_by_one" in {wrong.kind for wrong in task.wrong}
    for wrong in task.wrong:
        assert score(task, wrong.text) == 0


@settings(deadline=None)
@given(any_task)
def test_an_empty_answer_and_the_prompt_itself_are_wrong(task: Task) -> None:
    assert score(task, "") == 0
    assert score(task, task.prompt) == 0


@settings(deadline=None)
@given(any_task)
def test_every_number_of_a_problem_is_in_its_prompt(task: Task) -> None:
    number = re.compile(r"\d+(?:\.\d+)?")
    assert sorted(number.findall(task.prompt)) == sorted(number.findall(task.problem))


@pytest.mark.parametrize("wordings", WORDED, ids=lambda wordings: wordings.name)
def test_a_third_of_the_wordings_are_kept_from_training(wordings: Wordings) -> None:
    assert not set(wordings.seen) & set(wordings.unseen)
    assert 3 * len(wordings.unseen) >= len(wordings.seen) + len(wordings.unseen)


def test_numbers_that_may_be_swapped_make_one_problem() -> None:
    from quintain.tasks._number_problems import _canonical

    assert _canonical((5, 9, 2), ("add", "add")) == _canonical((2, 5, 9), ("add", "add"))
    assert _canonical((5, 9, 2), ("multiply", "add")) == _canonical((9, 5, 2), ("multiply", "add"))
    assert _canonical((5, 3, 9), ("subtract", "add")) != _canonical((9, 3, 5), ("subtract", "add"))
    assert _canonical((9, 3, 5), ("subtract", "subtract")) == "(9 - 3) - 5"


def test_the_worked_examples_are_true() -> None:
    lines = completion_interface(FAMILY.name).template.splitlines()
    answers = lines[1:-1:2]
    assert [solve(problem) for problem in WORKED] == [parse_number(answer) for answer in answers]
