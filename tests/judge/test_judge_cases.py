from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import SHOUT, TOTAL, cases, cases_task, judge_all, worth

from quintain.judge import judge_id
from quintain.judge._claims import read_claims
from quintain.types import AllOrNothing, Case, CasesSpec, Fraction, Layer, Outcome, Task

ECHO = "def same(value): return value"


def echo_task(values: list[object], tolerance: float = 0.0) -> Task:
    spec = CasesSpec(
        entry="same", cases=cases([((value,), value) for value in values]), tolerance=tolerance
    )
    return cases_task(spec)


def test_every_plain_type_travels_into_the_sandbox_and_back() -> None:
    values: list[object] = [
        None,
        True,
        -(7**9000),
        0.1,
        float("nan"),
        float("-inf"),
        1 - 2j,
        "é\ud800",
        b"\x00\xff",
        [1, [2]],
        (1, (2,)),
        {"a": {1: (None,)}},
        {1, 2},
        frozenset({(1, 2)}),
    ]
    verdict = judge_all({"echo": (echo_task(values), ECHO)})["echo"].verdict
    assert [case.passed for case in verdict.cases] == [True] * len(values)


def test_arguments_are_made_anew_for_every_call() -> None:
    spec = CasesSpec(entry="grow", cases=cases([(([1],), [1, 0])] * 3))
    text = (
        "seen = []\ndef grow(items):\n    items.append(0)\n    seen.append(items)\n    return items"
    )
    verdict = judge_all({"one": (cases_task(spec), text)})["one"].verdict
    assert verdict.score(Layer.FUNCTION) == 1


def test_partial_credit_is_the_weighted_share_of_passed_cases() -> None:
    assert isinstance(TOTAL.judge, CasesSpec)
    weighted = tuple(
        msgspec.structs.replace(case, weight=weight)
        for case, weight in zip(TOTAL.judge.cases, (1.0, 2.0, 3.0, 0.0, 4.0), strict=True)
    )
    task = msgspec.structs.replace(
        TOTAL, judge=msgspec.structs.replace(TOTAL.judge, cases=weighted), reward=Fraction()
    )
    text = "def total(items): return sum(items) if len(items) == 3 or not items else None"
    found = judge_all({"one": (task, text)})["one"]
    assert found.verdict.score(Layer.FUNCTION) == pytest.approx(0.3)
    value = worth(task, found)
    assert value is not None
    assert value.value == pytest.approx(0.3)


def test_tolerance_of_a_spec_reaches_floats_inside_lists() -> None:
    task = echo_task([[0.333333]], tolerance=1e-6)
    near = "def same(value): return [0.33333333333]"
    far = "def same(value): return [0.3334]"
    found = judge_all(
        {"near": (task, near), "far": (task, far), "exact": (echo_task([[0.333333]]), near)}
    )
    passed = {name: judged.verdict.cases[0].passed for name, judged in found.items()}
    assert passed == {"near": True, "far": False, "exact": False}


@pytest.mark.parametrize(
    "changes",
    [
        {"cases": ()},
        {"entry": "not a name"},
        {"parameters": ("s", "1x")},
        {"tolerance": -1.0},
        {"cases": (Case(args="nonsense", expected="1"),)},
        {"cases": (Case(args="[1]", expected="1"),)},
        {"cases": (Case(args='{"tuple": []}', expected="nonsense"),)},
        {"cases": (Case(args='{"tuple": []}', expected="1", weight=-1.0),)},
        {"cases": (Case(args='{"tuple": []}', expected="1", weight=0.0),)},
    ],
    ids=str,
)
def test_a_task_that_cannot_be_judged_by_is_invalid_and_never_passes(
    changes: dict[str, object],
) -> None:
    spec = msgspec.structs.replace(SHOUT.judge, **changes)
    task = msgspec.structs.replace(SHOUT, judge=spec)
    found = judge_all({"one": (task, "s.upper() + '!'")})["one"]
    assert found.verdict.outcome is Outcome.INVALID
    assert "TaskError" in found.verdict.evidence
    assert worth(task, found) is None


def test_a_task_without_cases_says_so() -> None:
    task = msgspec.structs.replace(
        SHOUT, judge=CasesSpec(entry="answer", cases=(), expression=True, parameters=("s",))
    )
    assert "no cases" in judge_all({"one": (task, "s")})["one"].verdict.evidence


def test_layers_come_in_order_and_stop_at_structure_when_there_is_nothing_to_call() -> None:
    found = judge_all({"good": (SHOUT, "s.upper() + '!'"), "bad": (SHOUT, "s.upper(")})
    good, bad = found["good"].verdict, found["bad"].verdict
    assert [result.layer for result in good.layers] == list(Layer)
    assert [result.layer for result in bad.layers] == [
        layer for layer in Layer if layer is not Layer.FUNCTION
    ]
    assert bad.score(Layer.STRUCTURE) == 0
    assert found["bad"].isolation is None
    for verdict in (good, bad):
        unused = {r.layer for r in verdict.layers if r.outcome is Outcome.NOT_APPLICABLE}
        assert unused == {Layer.ROBUSTNESS, Layer.QUALITY}


def test_evidence_holds_no_expected_value() -> None:
    task = cases_task(CasesSpec(entry="f", cases=cases([((1,), 735_191), ((2,), "hidden-word")])))
    found = judge_all({"one": (task, "def f(n): return n")})["one"]
    assert "735191" not in repr(found.verdict)
    assert "hidden-word" not in repr(found.verdict)


def test_the_digest_of_a_judge_follows_its_spec() -> None:
    assert isinstance(SHOUT.judge, CasesSpec)
    other = msgspec.structs.replace(SHOUT.judge, tolerance=0.5)
    assert judge_id(SHOUT.judge) == judge_id(SHOUT.judge)
    assert judge_id(SHOUT.judge).digest != judge_id(other).digest
    assert judge_id(SHOUT.judge).digest != judge_id(TOTAL.judge).digest


def test_all_or_nothing_is_the_rule_when_none_is_declared() -> None:
    assert TOTAL.reward == AllOrNothing()


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 5))
def test_any_bytes_on_the_channel_are_read_without_failing(channel: bytes, count: int) -> None:
    claims = read_claims(channel, count)
    assert all(-1 <= case < count for case in claims.by_case)
    if b"\n" in channel and not claims.by_case:
        assert claims.flags


@pytest.mark.parametrize(
    ("channel", "flags"),
    [
        (b"", ()),
        (b'{"case": 0, "value": "1"}\n{"case": 1, "raised": "E"}\n', ()),
        (b'{"case": 0, "value": "1"}\n{"case": 1, "val', ()),
        (b'{"case": 0, "value": "1"}\n{"case": 0, "value": "1"}\n', ("claim_twice",)),
        (b'{"case": 1, "value": "1"}\n{"case": 0, "value": "1"}\n', ("claim_out_of_place",)),
        (b'{"case": 2, "value": "1"}\n', ("claim_out_of_place",)),
        (b'{"case": -1, "raised": "E"}\n{"case": 0, "value": "1"}\n', ("claim_out_of_place",)),
        (b'{"case": 0}\n', ("not_a_claim",)),
        (b'{"case": 0, "value": "1", "raised": "E"}\n', ("not_a_claim",)),
        (b'{"case": 0, "value": "1", "passed": true}\n', ("not_a_claim",)),
        (b'{"case": true, "value": "1"}\n', ("not_a_claim",)),
        (b"\xff\n", ("not_a_claim",)),
        (b"\n", ("not_a_claim",)),
        (b"[" * 10_000 + b"\n", ("not_a_claim",)),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_not_one_claim_in_its_place_is_flagged(
    channel: bytes, flags: tuple[str, ...]
) -> None:
    assert read_claims(channel, 2).flags == flags
