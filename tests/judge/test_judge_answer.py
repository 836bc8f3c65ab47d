from __future__ import annotations

from fractions import Fraction

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.judge import judge, parse_number, reward
from quintain.sandbox import Execution, Program
from quintain.types import (
    AllOrNothing,
    AnswerKind,
    AnswerSpec,
    Layer,
    Limits,
    Outcome,
    Split,
    Submission,
    Task,
    Verdict,
)


class NoPool:
    """A pool that an answer judge has no business with."""

    async def execute(self, program: Program, limits: Limits | None = None) -> Execution:
        raise AssertionError("an answer was executed")


def verdict(spec: AnswerSpec, text: str) -> Verdict:
    task = Task(
        family="test",
        family_version="1",
        domain="maths",
        level=1,
        split=Split.TRAIN,
        problem="p",
        phrasing="",
        prompt="p",
        gold=spec.expected,
        wrong=(),
        judge=spec,
    )
    return anyio.run(judge, task, Submission(text=text), NoPool()).verdict


def number(expected: str, text: str, tolerance: float = 0.0, units: tuple[str, ...] = ()) -> bool:
    spec = AnswerSpec(kind=AnswerKind.NUMBER, expected=expected, tolerance=tolerance, units=units)
    found = verdict(spec, text)
    assert found.outcome is Outcome.SCORED
    worth = reward(found, AllOrNothing())
    assert worth is not None
    return worth.value == 1.0


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("16", "016"),
        ("16", "16.0"),
        ("16", "+16"),
        ("70000", "70,000"),
        ("1234567.5", "1,234,567.50"),
        ("0.75", "3/4"),
        ("3/4", "6 / 8"),
        ("-3", "−3"),
        ("-3", "-3"),
        ("42", "(42)."),
        ("42", "42!"),
        ("42", " **42** \n"),
        ("0.5", ".5"),
        ("5", "5."),
        ("1500", "1.5e3"),
        ("0", "-0"),
        ("1000000007", "1000000007"),
    ],
)
def test_the_same_number_in_another_form_is_right(expected: str, text: str) -> None:
    assert number(expected, text)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("1000000007", "1000000008"),
        ("9007199254740992", "9007199254740993"),
        ("42", "42abc"),
        ("42", "4 2"),
        ("42", ""),
        ("42", "-42"),
        ("42", "20 or 42"),
        ("42", "4,2"),
        ("42", "0x2a"),
        ("42", "４２"),
        ("42", "4_2"),
        ("1.4", "1.4🚀"),
        ("1.5", "nan"),
        ("0", "inf"),
        ("0", "-inf"),
        ("0", "Infinity"),
        ("1", "1/0"),
        ("60", "60%"),
        ("29", "$29.00"),
        ("10000", "1e999999999"),
        ("1", "9" * 10_000_000),
        ("1", "1" + "0" * 2000),
    ],
    ids=lambda text: text[:20],
)
def test_another_number_or_no_number_is_wrong(expected: str, text: str) -> None:
    assert not number(expected, text)


def test_signs_of_units_count_only_when_they_are_declared() -> None:
    assert number("60", "60%", units=("%",))
    assert number("29", "$29.00", units=("$",))
    assert number("-29", "-$29.00", units=("$",))
    assert not number("29", "€29.00", units=("$",))


def test_tolerance_is_absolute_and_declared() -> None:
    assert number("0.333333", "0.333333333333", tolerance=1e-6)
    assert number("1", "1.1", tolerance=0.1)
    assert not number("1", "1.11", tolerance=0.1)
    assert not number("0.333333", "0.333333333333")
    assert not number("0", "inf", tolerance=0.5)


@settings(deadline=None)
@given(st.integers(), st.integers(min_value=1), st.booleans())
def test_a_quotient_reads_as_its_exact_value(above: int, below: int, minus: bool) -> None:
    text = f"{'−' if above < 0 and minus else '-' if above < 0 else ''}{abs(above)}/{below}"
    assert parse_number(text) == Fraction(above, below)


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9))
def test_a_decimal_reads_as_its_exact_value(value: object) -> None:
    assert parse_number(format(value, "f")) == Fraction(str(value))


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_number_or_none_and_nothing_is_raised(text: str) -> None:
    found = parse_number(text, ("$", "%"))
    assert found is None or isinstance(found, Fraction)


@pytest.mark.parametrize("expected", ["", "many", "nan", "1/0"])
def test_an_expected_answer_that_is_no_number_makes_the_verdict_invalid(expected: str) -> None:
    found = verdict(AnswerSpec(kind=AnswerKind.NUMBER, expected=expected), expected)
    assert found.outcome is Outcome.INVALID
    assert "TaskError" in found.evidence
    assert reward(found, AllOrNothing()) is None


@pytest.mark.parametrize("tolerance", [-1.0, float("nan"), float("inf")])
def test_a_tolerance_without_meaning_makes_the_verdict_invalid(tolerance: float) -> None:
    spec = AnswerSpec(kind=AnswerKind.NUMBER, expected="1", tolerance=tolerance)
    assert verdict(spec, "1").outcome is Outcome.INVALID


def test_exact_text_must_be_equal_but_for_blanks_around_and_line_ends() -> None:
    spec = AnswerSpec(kind=AnswerKind.EXACT, expected="a b\nc")
    assert verdict(spec, " a b\r\nc\n").score(Layer.FUNCTION) == 1
    for wrong in ("ab\nc", "a  b\nc", "A b\nc", "", "a b\nc d"):
        assert verdict(spec, wrong).score(Layer.FUNCTION) == 0


def test_an_empty_expected_text_makes_the_verdict_invalid() -> None:
    spec = AnswerSpec(kind=AnswerKind.EXACT, expected=" \n")
    assert verdict(spec, "").outcome is Outcome.INVALID


def test_evidence_holds_no_expected_value() -> None:
    spec = AnswerSpec(kind=AnswerKind.NUMBER, expected="73519")
    for text in ("1", "nonsense", ""):
        found = verdict(spec, text)
        assert "73519" not in repr((found.evidence, found.cases, found.layers))
