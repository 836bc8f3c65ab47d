"""Sources whose answer is a text or a number: GSM8K, MATH-500, CRUXEval's outputs.

A MATH answer that is not a plain number becomes an exact text, which refuses other spellings of the
same answer; such tasks carry ``spelling=exact`` in their phrasing.
"""

from __future__ import annotations

import ast
import re
from fractions import Fraction

import msgspec

from quintain.errors import UserError
from quintain.judge import parse_number
from quintain.tasks.formats._files import as_row, check_name
from quintain.tasks.formats._parse import parse
from quintain.tasks.formats._settle import VERSION, LeftOut
from quintain.types import AnswerKind, AnswerSpec, Split, Task, WrongAnswer

__all__ = ["AnswerDraft", "answer_task", "cruxeval_output", "gsm8k", "math500"]

_UNITS = ("$", "%")
_FIRST_NUMBER = re.compile(r"\d+")


class AnswerDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A task judged by its answer, complete but for its split."""

    source: str
    family: str
    domain: str
    prompt: str
    problem: str
    judge: AnswerSpec
    level: int = 1
    phrasing: str = "as_published"


class _Gsm8k(msgspec.Struct):
    question: str
    answer: str


class _Math(msgspec.Struct):
    problem: str
    answer: str
    subject: str
    level: int
    unique_id: str


class _Crux(msgspec.Struct):
    code: str
    input: str
    output: str
    id: str


def gsm8k(row: dict[str, object], where: str) -> AnswerDraft:
    """Read a row of GSM8K; the answer stands after ``####``."""
    read = as_row(row, _Gsm8k, where)
    _filled(read.question, where, "question")
    answer = read.answer.rpartition("####")[2].strip() if "####" in read.answer else ""
    if parse_number(answer, _UNITS) is None:
        raise UserError(f"{where}: no number after '####' - at `$.answer`")
    return AnswerDraft(
        source=read.question,
        family="gsm8k",
        domain="maths",
        prompt=read.question,
        problem=" ".join(read.question.split()),
        judge=AnswerSpec(kind=AnswerKind.NUMBER, expected=answer, units=_UNITS),
    )


def math500(row: dict[str, object], where: str) -> AnswerDraft:
    """Read a row of MATH or MATH-500; its levels are kept."""
    read = as_row(row, _Math, where)
    check_name(read.unique_id, where, "unique_id")
    _filled(read.problem, where, "problem")
    _filled(read.answer, where, "answer")
    if not 1 <= read.level <= 5:
        raise UserError(f"{where}: level {read.level}; MATH has 1 to 5 - at `$.level`")
    number = parse_number(read.answer) is not None
    kind = AnswerKind.NUMBER if number else AnswerKind.EXACT
    spelling = "" if number else " spelling=exact"
    return AnswerDraft(
        source=read.unique_id,
        family="math500",
        domain="maths",
        level=read.level,
        prompt=read.problem,
        problem=" ".join(read.problem.split()),
        judge=AnswerSpec(kind=kind, expected=read.answer.strip()),
        phrasing=f"as_published subject={'_'.join(read.subject.split())}{spelling}",
    )


def cruxeval_output(row: dict[str, object], where: str) -> AnswerDraft | LeftOut:
    """Read a row of CRUXEval as the prediction of an output, as ``repr`` writes it."""
    read = as_row(row, _Crux, where)
    check_name(read.id, where, "id")
    _filled(read.code, where, "code")
    try:
        written = repr(ast.literal_eval(_expression(read.output)))
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{where}: not a Python literal: {error} - at `$.output`") from error
    return AnswerDraft(
        source=read.id,
        family="cruxeval_output",
        domain="code",
        prompt=f"{read.code}\n\nWhat does f({read.input}) return? Answer as Python's repr writes "
        "it.",
        problem=f"{read.code}\nf({read.input})",
        judge=AnswerSpec(kind=AnswerKind.EXACT, expected=written),
    )


def _expression(text: str) -> ast.expr:
    (statement,) = parse(text).body
    if not isinstance(statement, ast.Expr):
        raise ValueError("a statement")
    return statement.value


def _filled(text: str, where: str, field: str) -> None:
    if not text.strip():
        raise UserError(f"{where}: empty - at `$.{field}`")


def answer_task(draft: AnswerDraft, split: Split) -> Task:
    """Complete a draft."""
    return Task(
        family=draft.family,
        family_version=VERSION,
        domain=draft.domain,
        level=draft.level,
        split=split,
        problem=draft.problem,
        phrasing=draft.phrasing,
        prompt=draft.prompt,
        gold=draft.judge.expected,
        wrong=tuple(_wrong(draft)),
        judge=draft.judge,
    )


def _wrong(draft: AnswerDraft) -> list[WrongAnswer]:
    gold, units = draft.judge.expected, draft.judge.units
    number = parse_number(gold, units)
    offered = {"constant": "0", "stub": "None"}
    if number is not None:
        if number.denominator == 1:
            offered["off_by_one"] = str(number + 1)
        if found := _FIRST_NUMBER.search(draft.prompt):
            offered["first_number"] = found[0]
    else:
        offered["cut_short"] = gold[:-1].strip()
    return [
        WrongAnswer(kind=kind, text=text)
        for kind, text in offered.items()
        if text != gold and not (number is not None and _value(text) == number)
    ]


def _value(text: str) -> Fraction | None:
    return parse_number(text)
