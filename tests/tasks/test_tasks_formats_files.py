"""Task files: what is written is read back, and nothing broken is read or left behind."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintain.codec import encode
from quintain.errors import UserError
from quintain.tasks import FAMILIES, stream
from quintain.tasks.formats import read_tasks, write_atomically, write_tasks
from quintain.types import Split, Task

TASKS = [task for family in FAMILIES for task in stream(family, 2, Split.TRAIN, 3, 3)]
LINE = encode(TASKS[0])


def test_tasks_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    assert write_tasks(path, TASKS) == len(TASKS)
    assert list(read_tasks(path)) == TASKS
    packed = tmp_path / "tasks.bin"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_tasks(packed)) == TASKS


def changed(**fields: object) -> bytes:
    return json.dumps({**json.loads(LINE), **fields}).encode()


def without(field: str) -> bytes:
    row = json.loads(LINE)
    del row[field]
    return json.dumps(row).encode()


BROKEN = {
    "a missing field": (without("prompt"), "prompt"),
    "a wrong type": (changed(level="two"), "$.level"),
    "an unknown field": (changed(colour="red"), "colour"),
    "an unknown split": (changed(split="test"), "$.split"),
    "a level below one": (changed(level=0), "$.level"),
    "no cases": (changed(judge={"type": "cases", "entry": "f", "cases": []}), "$.judge.cases"),
    "an entry that is code": (
        changed(
            judge={"type": "cases", "entry": "f;g", "cases": [{"args": "[]", "expected": "1"}]}
        ),
        "$.judge.entry",
    ),
    "arguments that are no tuple": (
        changed(judge={"type": "cases", "entry": "f", "cases": [{"args": "[]", "expected": "1"}]}),
        "$.judge.cases[0].args",
    ),
    "a value that is not in wire form": (
        changed(
            judge={
                "type": "cases",
                "entry": "f",
                "cases": [{"args": '{"tuple": []}', "expected": '{"object": 1}'}],
            }
        ),
        "$.judge.cases[0]",
    ),
    "a family that climbs": (changed(family="../../etc/x"), "$.family"),
    "a line cut short": (LINE[:-9], "not valid JSON"),
    "two rows on a line": (LINE + LINE, "not valid JSON"),
    "bytes that are not UTF-8": (LINE[:-1] + b"\xff}", "not UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf" + LINE, "byte order mark"),
    "a list": (b"[]", ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_is_named_by_file_line_and_field(name: str, tmp_path: Path) -> None:
    line, field = BROKEN[name]
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(encode(TASKS[1]) + b"\n\n" + line + b"\n")
    with pytest.raises(UserError) as caught:
        list(read_tasks(path))
    assert f"{path}:3: " in caught.value.message
    assert field in caught.value.message


def test_a_problem_that_stands_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(LINE + b"\n" + changed(prompt="In other words.") + b"\n")
    with pytest.raises(UserError, match=r":2: the same problem as .*:1"):
        list(read_tasks(path))


@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"")])
def test_a_file_without_tasks_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match="holds no tasks"):
        list(read_tasks(path))


@pytest.mark.parametrize("cut", [3, 12, -20, -3])
def test_a_damaged_gzip_file_is_refused(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl.gz"
    path.write_bytes(gzip.compress(LINE * 9)[:cut])
    with pytest.raises(UserError, match=str(path)):
        list(read_tasks(path))


@pytest.mark.parametrize("path", ["absent.jsonl", "."])
def test_a_path_that_is_no_file_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        list(read_tasks(tmp_path / path))


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, TASKS[:1])
    before = path.read_bytes()
    with pytest.raises(UserError, match="same problem twice"):
        write_tasks(path, [*TASKS, TASKS[0]], replace=True)
    with pytest.raises(UserError, match="no tasks"):
        write_tasks(path, [], replace=True)
    with pytest.raises(UserError, match="exists already"):
        write_tasks(path, TASKS)
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, (b"%d" % (1 // n) for n in (1, 0)), replace=True)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["tasks.jsonl"]


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_mutilated_file_is_read_or_refused_but_never_crashes(
    data: st.DataObject, tmp_path: Path
) -> None:
    content = bytearray(encode(TASKS[0]) + b"\n" + encode(TASKS[-1]) + b"\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        content = content or bytearray(b"x")
    path = tmp_path / "mutilated.jsonl"
    path.write_bytes(content)
    complaint = ""
    try:
        assert all(isinstance(task, Task) for task in read_tasks(path))
    except UserError as error:
        complaint = error.message
    assert not complaint or str(path) in complaint
