"""The `answer` judge: a text against an expected text or number; nothing is executed.

Invariant: numbers are compared as exact fractions, never as floats, and every text is bounded
before it is read as a number, so that ``1e999999999`` costs nothing.

Does not pick an answer out of a longer text: that is the interface's parser. A text that is not one
number is no answer.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import assert_never

from quintain.errors import TaskError
from quintain.judge._finding import judge_id, layers, shorten
from quintain.types import AnswerKind, AnswerSpec, CaseResult, Outcome, Submission, Verdict

__all__ = ["judge_answer", "parse_number"]

_LONGEST_NUMBER = 1000
_LONGEST_TEXT = 100_000
_WRAPPINGS = (("(", ")"), ("[", "]"), ("**", "**"), ("`", "`"))
_MINUS = str.maketrans({"−": "-", "－": "-", "–": "-"})
_WHOLE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"
_DECIMAL = re.compile(rf"([+-]?)({_WHOLE})?(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{{1,3}}))?")
_QUOTIENT = re.compile(rf"([+-]?)({_WHOLE})\s*/\s*({_WHOLE})")


def parse_number(text: str, units: tuple[str, ...] = ()) -> Fraction | None:
    """Read one number, exactly; None when the text is anything else.

    >>> parse_number("(70,000).")
    Fraction(70000, 1)

    Reads integers (leading zeros, thousands separators), decimals, powers of ten below 1000 and
    quotients such as ``3/4``; a unicode minus; punctuation after and brackets around. ``units`` are
    signs that may stand before or after the number. There is no ``nan`` and no ``inf``.
    """
    if len(text) > _LONGEST_NUMBER:
        return None
    bare = _unwrap(text.translate(_MINUS), units)
    if found := _QUOTIENT.fullmatch(bare):
        sign, above, below = found.groups()
        if _whole(below) == 0:
            return None
        return Fraction(_whole(above), _whole(below)) * (-1 if sign == "-" else 1)
    found = _DECIMAL.fullmatch(bare)
    if found is None or (found[2] is None and found[3] is None):
        return None
    sign, whole, decimals, power = found.groups()
    digits = str(_whole(whole or "0")) + (decimals or "")
    value = Fraction(int(digits), 10 ** len(decimals or ""))
    return value * Fraction(10) ** int(power or 0) * (-1 if sign == "-" else 1)


def _whole(digits: str) -> int:
    return int(digits.replace(",", ""))


def _unwrap(text: str, units: tuple[str, ...]) -> str:
    """Take away blanks, final punctuation, brackets and declared units, a few layers deep."""
    for _ in range(6):
        before = text
        text = text.strip()
        if len(text) > 1 and text[-1] in ".!?,;:":
            text = text[:-1]
        for left, right in _WRAPPINGS:
            if len(text) > len(left + right) and text.startswith(left) and text.endswith(right):
                text = text[len(left) : -len(right)]
        for unit in units:
            sign = text[:1] if text[:1] in {"-", "+"} else ""
            text = sign + text.removeprefix(sign).removeprefix(unit).removesuffix(unit)
        if text == before:
            break
    return text


def judge_answer(spec: AnswerSpec, submission: Submission) -> Verdict:
    """Judge a text; raises `TaskError` when the expected answer cannot be an answer."""
    match spec.kind:
        case AnswerKind.NUMBER:
            found, structure = _number(spec, submission.text)
        case AnswerKind.EXACT:
            found, structure = _exact(spec, submission.text)
        case _:
            assert_never(spec.kind)
    score = 1.0 if found else 0.0
    evidence = f"answered {shorten(submission.text, 120)!r}"
    return Verdict(
        outcome=Outcome.SCORED,
        judge=judge_id(spec),
        layers=layers(
            structure=(0.0 if structure else 1.0, structure),
            function=None if structure else (score, evidence),
        ),
        cases=(CaseResult(passed=bool(found), evidence=structure or evidence),),
        evidence=structure or evidence,
    )


def _number(spec: AnswerSpec, text: str) -> tuple[bool, str]:
    expected = parse_number(spec.expected, spec.units)
    if expected is None:
        raise TaskError(f"expected answer is not a number: {shorten(spec.expected)!r}")
    if not (math.isfinite(spec.tolerance) and spec.tolerance >= 0):
        raise TaskError(f"tolerance must be finite and not negative: {spec.tolerance}")
    found = parse_number(text, spec.units)
    if found is None:
        return False, f"not a number: {shorten(text, 120)!r}"
    # The shortest decimal is what the author of a tolerance wrote; its binary value is not.
    return abs(found - expected) <= Fraction(repr(spec.tolerance)), ""


def _exact(spec: AnswerSpec, text: str) -> tuple[bool, str]:
    expected = _plain(spec.expected)
    if not expected:
        raise TaskError("expected answer is empty: an empty submission would be right")
    if len(text) > _LONGEST_TEXT:
        return False, f"longer than {_LONGEST_TEXT} characters"
    found = _plain(text)
    return found == expected, "" if found else "empty"


def _plain(text: str) -> str:
    """Without blanks around and with one kind of line end; everything else counts."""
    return text.replace("\r\n", "\n").strip()
