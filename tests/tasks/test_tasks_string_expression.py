from __future__ import annotations

import ast
import builtins
import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.judge import wire
from quintain.tasks import StringExpression, completion_interface, stream
from quintain.tasks._string_aggregates import AGGREGATES
from quintain.tasks._string_expression import WORKED
from quintain.tasks._string_ops import OPS, Op
from quintain.tasks._string_plan import Step, draw_step
from quintain.types import CasesSpec, Split, Task

FAMILY = StringExpression()
ops = pytest.mark.parametrize("op", OPS + AGGREGATES, ids=lambda op: op.name)
SAFE = {
    name: getattr(builtins, name) for name in ("len", "list", "max", "min", "set", "sorted", "sum")
}
TEXTS = [
    "".join(random.Random(number).choices(string.printable[:70] + "  ", k=8 + number))
    for number in range(40)
]


def evaluate(code: str, s: str) -> object:
    """Evaluate code of the op table, which is ours."""
    return eval(code, {"__builtins__": SAFE}, {"s": s})


def outcome(call: object, *args: object) -> object:
    assert callable(call)
    try:
        return wire.encode(call(*args))
    except (IndexError, ValueError) as error:
        return type(error)


@ops
def test_the_code_of_an_operation_means_what_its_function_does(op: Op) -> None:
    generator = random.Random(0)
    for text in TEXTS:
        step = draw_step(generator, [op])
        assert outcome(evaluate, step.code("s", True), text) == outcome(step.run, text)


@ops
def test_a_third_of_the_wordings_are_kept_from_training(op: Op) -> None:
    assert not set(op.seen) & set(op.unseen)
    assert 3 * len(op.unseen) >= len(op.seen) + len(op.unseen)


@ops
def test_every_wording_names_the_string_and_all_arguments(op: Op) -> None:
    for wording in op.seen + op.unseen:
        assert "{x}" in wording
        if op.choices:
            assert "{a}" in wording or "{nth}" in wording
        if len(op.choices) == 2:
            assert "{b}" in wording


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 6), st.sampled_from(Split), st.integers(0, 10**6), st.integers(0, 10**6))
def test_gold_gives_the_expected_values_and_wrong_answers_do_not(
    level: int, split: Split, index: int, seed: int
) -> None:
    task = FAMILY.generate(level, split, index, seed)
    assert isinstance(task.judge, CasesSpec)
    expected = [case.expected for case in task.judge.cases]
    assert len(set(expected)) > 1
    assert values(task, task.gold) == expected
    for wrong in task.wrong:
        assert values(task, wrong.text) != expected, wrong


def values(task: Task, code: str) -> list[object]:
    assert isinstance(task.judge, CasesSpec)
    found = []
    for case in task.judge.cases:
        arguments = wire.decode(case.args)
        assert isinstance(arguments, tuple)
        found.append(outcome(evaluate, code, *arguments))
    return found


def test_gold_is_one_short_line_that_parses_as_an_expression() -> None:
    for level in range(1, 7):
        for task in stream(FAMILY, level, Split.TRAIN, 0, 60):
            ast.parse(task.gold, mode="eval")
            assert "\n" not in task.gold
            assert len(task.gold) <= 90


def test_operations_that_may_be_swapped_make_one_problem() -> None:
    from quintain.tasks._string_plan import chain

    upper = Step(next(op for op in OPS if op.name == "upper"))
    reverse = Step(next(op for op in OPS if op.name == "reverse"))
    first = Step(next(op for op in OPS if op.name == "first"), (3,))
    generator = random.Random(0)
    assert chain((upper, reverse), generator).problem == chain((reverse, upper), generator).problem
    assert chain((first, reverse), generator).problem != chain((reverse, first), generator).problem


def test_the_worked_examples_are_true_and_worded_as_in_training() -> None:
    lines = completion_interface(FAMILY.name).template.splitlines()
    pairs = list(zip(lines[0:-2:2], lines[1:-2:2], strict=True))
    shown = []
    for op in OPS:
        for args in [()] if not op.choices else [(value,) for value in op.choices[0]]:
            step = Step(op, args)
            if step.text not in WORKED:
                continue
            assert any(
                (f"# {step.words(wording, 's')}", f"return {step.code('s', True)}") in pairs
                for wording in op.seen
            )
            shown.append(step.text)
    assert sorted(shown) == sorted(WORKED)
    assert len(pairs) == len(WORKED)
