"""What an auditor gets: a record of every execution, and the events worth asking about."""

from __future__ import annotations

import os

from quintain.codec import decode, encode
from quintain.sandbox import (
    AuditRecord,
    Program,
    SecurityEventKind,
    audit,
    execute,
    python_program,
)
from quintain.types import Limits

_LIMITS = Limits(cpu_s=0.3, wall_s=20, memory_mib=96)


def _kinds(program: Program) -> list[SecurityEventKind]:
    return [event.kind for event in execute(program, _LIMITS).events]


def test_a_quiet_program_leaves_no_event() -> None:
    assert _kinds(python_program("print(1)")) == []


def test_a_limit_a_refused_output_and_a_denied_call_are_events() -> None:
    assert _kinds(python_program("while True: pass")) == [SecurityEventKind.LIMIT_KILL]
    link = python_program("import os; os.symlink('/etc/passwd', 'x')", fetch=("x",))
    assert _kinds(link) == [SecurityEventKind.REFUSED_OUTPUT]
    x32 = "import ctypes; ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39))"
    if os.uname().machine == "x86_64":
        assert _kinds(python_program(x32)) == [SecurityEventKind.DENIED_CALL]


def test_the_record_names_the_program_by_its_content() -> None:
    program = Program(argv=("cat", "a"), files={"a": b"1"}, env={"X": "1"})
    done = execute(program)
    record = audit(program, Limits(), done)
    assert decode(encode(record), AuditRecord, where="test") == record
    others = [
        Program(argv=("cat", "a"), files={"a": b"2"}, env={"X": "1"}),
        Program(argv=("cat", "a"), files={"a": b"1"}, env={"X": "2"}),
        Program(argv=("cat", "a"), files={"a": b"1"}, env={"X": "1"}, stdin=b"x"),
        Program(argv=("cat",), build=("a",), files={"a": b"1"}, env={"X": "1"}),
    ]
    hashes = {audit(other, Limits(), done).program for other in others}
    assert len(hashes | {record.program}) == 5
