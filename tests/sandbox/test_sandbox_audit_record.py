"""Audit records by value: what they name, what they complete, what they never let in."""

from __future__ import annotations

import signal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.codec import decode, encode
from quintain.sandbox import (
    DEFAULT_WALLS,
    AuditRecord,
    Execution,
    ExecutionStatus,
    Program,
    SecurityEvent,
    SecurityEventKind,
    audit,
)
from quintain.testing import executed
from quintain.types import Limits

PROGRAM = Program(argv=("cat", "a"), files={"a": b"1"}, env={"X": "1"}, stdin=b"in")


def _events(execution: Execution) -> list[tuple[SecurityEventKind, str]]:
    record = audit(PROGRAM, Limits(), execution)
    return [(event.kind, event.detail) for event in record.events]


@pytest.mark.parametrize(
    "change",
    [
        {"argv": ("cat", "b")},
        {"argv": ("cat",), "build": ("a",)},
        {"env": {"X": "2"}},
        {"loopback": True},
        {"fetch": ("a",)},
    ],
    ids=str,
)
def test_another_command_has_another_hash_and_the_same_inputs(change: dict[str, object]) -> None:
    one = audit(PROGRAM, Limits(), executed())
    other = audit(msgspec.structs.replace(PROGRAM, **change), Limits(), executed())
    assert (other.command != one.command, other.inputs == one.inputs) == (True, True)
    assert other.program != one.program


@pytest.mark.parametrize(
    "change", [{"files": {"a": b"2"}}, {"files": {"b": b"1"}}, {"stdin": b""}], ids=str
)
def test_other_inputs_have_another_hash_and_the_same_command(change: dict[str, object]) -> None:
    one = audit(PROGRAM, Limits(), executed())
    other = audit(msgspec.structs.replace(PROGRAM, **change), Limits(), executed())
    assert (other.command == one.command, other.inputs != one.inputs) == (True, True)


def test_limits_and_denied_calls_are_events_also_where_the_backend_is_silent() -> None:
    kill, denied = SecurityEventKind.LIMIT_KILL, SecurityEventKind.DENIED_CALL
    for status, limit in (("cpu_limit", "cpu"), ("memory_limit", "memory"), ("invalid", "wall")):
        assert _events(executed(status=ExecutionStatus(status))) == [(kill, limit)]
    sigsys = executed(status=ExecutionStatus.RUNTIME_ERROR, exit_code=None, signal=signal.SIGSYS)
    assert [kind for kind, _ in _events(sigsys)] == [denied]
    told = (SecurityEvent(kind=kill, detail="cpu"),)
    spun = executed(status=ExecutionStatus.CPU_LIMIT, exit_code=None, signal=9)
    assert _events(msgspec.structs.replace(spun, events=told)) == [(kill, "cpu")]
    assert _events(executed()) == []


def test_required_walls_that_did_not_stand_are_named() -> None:
    assert audit(PROGRAM, Limits(), executed()).missing_walls == tuple(sorted(DEFAULT_WALLS))


@given(st.lists(st.text(st.characters(exclude_categories=[])), max_size=4))
def test_whatever_a_program_chose_can_be_stored(details: list[str]) -> None:
    refused = SecurityEventKind.REFUSED_OUTPUT
    events = tuple(SecurityEvent(kind=refused, detail=detail) for detail in details)
    record = audit(
        Program(argv=("x", *details)), Limits(), msgspec.structs.replace(executed(), events=events)
    )
    assert decode(encode(record), AuditRecord, where="test") == record
    assert len(record.events) == len(details)
