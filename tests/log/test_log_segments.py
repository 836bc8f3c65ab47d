"""Framing, golden segment, torn and damaged lines."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_examples import GOLDEN, GOLDEN_RECORDS, TASK, golden_bytes, trial

from quintain.errors import LogError
from quintain.log import (
    SCHEMA_VERSION,
    EventRecord,
    HeaderRecord,
    MetricRecord,
    Record,
    RunLog,
    SegmentReader,
    TaskRecord,
    TrialRecord,
    decode_line,
    encode_line,
    records,
)
from quintain.types import Task, Trial

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def _with_text(text: str, sample: int) -> Trial:
    return trial(sample, text=text)


RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(
        MetricRecord, phase=TEXT, step=st.integers(0, 99), values=st.dictionaries(TEXT, FINITE)
    ),
    st.builds(EventRecord, kind=TEXT, message=TEXT, at=FINITE),
    st.builds(TrialRecord, trial=st.builds(_with_text, text=TEXT, sample=st.integers(0, 9))),
)


@given(RECORDS)
def test_a_decoded_line_is_the_record_that_was_encoded(record: Record) -> None:
    line = encode_line(record)
    assert line.count(b"\n") == 1
    assert decode_line(line, where="here") == record


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("segment_v*.log")), ids=lambda path: path.name)
def test_every_golden_segment_ever_written_still_reads(path: Path) -> None:
    assert list(SegmentReader(path)) == list(GOLDEN_RECORDS)


def test_segments_are_written_byte_for_byte_as_the_golden_one() -> None:
    golden = (GOLDEN / f"segment_v{SCHEMA_VERSION}.log").read_bytes()
    assert golden == golden_bytes(), "the nouns changed: see log_examples.py before you go on"


@given(st.integers(0, len(golden_bytes())))
def test_a_segment_cut_at_any_byte_loses_no_earlier_record(length: int) -> None:
    whole = golden_bytes()[:length].count(b"\n")
    with TemporaryDirectory() as directory:
        path = Path(directory, "000000.log")
        path.write_bytes(golden_bytes()[:length])
        reader = SegmentReader(path)
        assert list(reader) == list(GOLDEN_RECORDS[: max(whole - 1, 0)])
    assert reader.torn_bytes == length - (golden_bytes()[:length].rfind(b"\n") + 1)


@given(st.integers(0, len(golden_bytes()) - 2), st.integers(1, 255))
def test_a_changed_byte_is_an_error_that_names_segment_and_line(position: int, flip: int) -> None:
    data = bytearray(golden_bytes())
    data[position] ^= flip
    line = golden_bytes()[:position].count(b"\n") + 1
    with TemporaryDirectory() as directory:
        path = Path(directory, "000000.log")
        path.write_bytes(bytes(data))
        with pytest.raises(LogError, match=rf"000000\.log: line {line}"):
            list(SegmentReader(path))


def test_a_missing_line_break_in_the_middle_is_damage_not_a_torn_end(tmp_path: Path) -> None:
    path = tmp_path / "000000.log"
    path.write_bytes(golden_bytes().replace(b"\n", b"", 3))
    with pytest.raises(LogError, match="line 1"):
        list(SegmentReader(path))


def test_a_segment_of_a_later_schema_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "000000.log"
    path.write_bytes(encode_line(HeaderRecord(schema_version=SCHEMA_VERSION + 1)))
    with pytest.raises(LogError, match="schema version") as caught:
        list(SegmentReader(path))
    assert "version of quintain" in caught.value.hint


def test_a_segment_without_header_or_with_two_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "000000.log"
    event = encode_line(EventRecord(kind="a", message="b", at=0.0))
    for data in (event, encode_line(HeaderRecord()) * 2):
        path.write_bytes(data)
        with pytest.raises(LogError, match="header"):
            list(SegmentReader(path))


def test_an_intact_line_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    body = b'{"type":"surprise"}'
    path = tmp_path / "000000.log"
    path.write_bytes(encode_line(HeaderRecord()) + b"%08x %b\n" % (zlib.crc32(body), body))
    with pytest.raises(LogError, match="line 2: intact, but"):
        list(SegmentReader(path))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_would_change_is_refused_and_leaves_no_trace(
    value: float, tmp_path: Path
) -> None:
    with RunLog(tmp_path) as log:
        with pytest.raises(LogError, match="not finite"):
            log.append(MetricRecord(phase="train", step=1, values={"loss": value}))
        log.append(MetricRecord(phase="train", step=2, values={"loss": 1.0}))
    assert [record.step for record in records(tmp_path) if isinstance(record, MetricRecord)] == [2]


def test_text_that_is_not_unicode_is_refused(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log, pytest.raises(LogError, match="not Unicode"):
        log.append(EventRecord(kind="a", message="\ud800", at=0.0))


def test_a_task_is_logged_once_and_again_only_when_it_changed(tmp_path: Path) -> None:
    changed: Task = msgspec.structs.replace(TASK, gold="2 * x")
    with RunLog(tmp_path) as log:
        for task in (TASK, TASK, changed, changed):
            log.append(TaskRecord(task=task))
    assert list(records(tmp_path)) == [TaskRecord(task=TASK), TaskRecord(task=changed)]
