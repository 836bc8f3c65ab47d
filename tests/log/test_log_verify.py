"""Attacks on the logs of a run: each is found, in its segment and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from audit_examples import golden_bytes, record, write
from hypothesis import given
from hypothesis import strategies as st
from log_examples import trial

from quintain.errors import UserError
from quintain.log import AuditLog, Finding, RunLog, TrialRecord, verify, verify_run

LINES = golden_bytes().splitlines(keepends=True)


def _damage(run_dir: Path, expect: str = "") -> list[tuple[str, int]]:
    return [
        (finding.segment, finding.line)
        for finding in verify(run_dir, expect=expect)
        if finding.damage
    ]


def _of(data: bytes) -> tuple[Finding, ...]:
    with TemporaryDirectory() as directory:
        path = Path(directory, "audit", "000000.log")
        path.parent.mkdir()
        path.write_bytes(data)
        return verify(Path(directory))


@given(st.integers(0, len(golden_bytes()) - 1), st.integers(1, 255))
def test_any_changed_byte_of_any_line_is_found_in_its_line(position: int, flip: int) -> None:
    data = bytearray(golden_bytes())
    data[position] ^= flip
    (finding,) = _of(bytes(data))
    assert finding.damage
    assert finding.line == golden_bytes()[:position].count(b"\n") + 1


@given(st.integers(0, len(LINES) - 2))
def test_a_line_taken_away_is_found_where_it_was(taken: int) -> None:
    (finding,) = _of(b"".join(LINES[:taken] + LINES[taken + 1 :]))
    assert (finding.damage, finding.line) == (True, taken + 1)


@given(st.integers(0, len(LINES) - 1), st.integers(0, len(LINES)))
def test_a_line_written_twice_is_found_where_it_was_put(which: int, place: int) -> None:
    (finding,) = _of(b"".join([*LINES[:place], LINES[which], *LINES[place:]]))
    # right after itself it is the second one that is too many
    assert (finding.damage, finding.line) == (True, place + 1 + (which == place))


@given(st.permutations(range(len(LINES))))
def test_lines_in_another_order_are_found(order: list[int]) -> None:
    first = next((n for n, which in enumerate(order) if n != which), None)
    found = _of(b"".join(LINES[which] for which in order))
    assert [(one.damage, one.line) for one in found] == (
        [] if first is None else [(True, first + 1)]
    )


@given(st.integers(0, len(golden_bytes()) - 1))
def test_a_segment_cut_at_any_byte_is_noted_as_a_crash(length: int) -> None:
    found = _of(golden_bytes()[:length])
    assert found
    assert not any(finding.damage for finding in found)
    torn = any("cut off" in finding.problem for finding in found)
    assert torn is not (length == 0 or golden_bytes()[:length].endswith(b"\n"))


def _run(directory: Path) -> None:
    """Three segments, begun one after the other, beside a manifest and a trial segment."""
    (directory / "manifest.json").write_text("{}")
    write(directory, 0, 1, 2)
    write(directory, 3, 4, seal=False)
    write(directory, 5, 6)
    with RunLog(directory) as log:
        log.append(TrialRecord(trial=trial(0)))
        log.append(TrialRecord(trial=trial(1)))


def _segment(number: int) -> Callable[[Path], Path]:
    return lambda run_dir: run_dir / "audit" / f"{number:06d}.log"


def _swap(run_dir: Path) -> None:
    one, two = _segment(0)(run_dir), _segment(2)(run_dir)
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)


def _shorten(number: int, lines: int) -> Callable[[Path], None]:
    def attack(run_dir: Path) -> None:
        path = _segment(number)(run_dir)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-lines]))

    return attack


def _foreign(run_dir: Path) -> None:
    with TemporaryDirectory() as other:
        path = write(Path(other), 9)
        (Path(other) / "manifest.json").write_text("{ }")
        with AuditLog(Path(other)) as log:
            log.append("execution", record(8))
        _segment(1)(run_dir).write_bytes(log.segment.read_bytes())
    assert path.name == "000000.log"


def _flip_trial(run_dir: Path) -> None:
    path = run_dir / "segments" / "000000.log"
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(bytes(data))


ATTACKS: list[tuple[str, Callable[[Path], object], list[tuple[str, int]]]] = [
    ("nothing", lambda _: None, []),
    ("swap", _swap, [("audit/000000.log", 1), ("audit/000002.log", 1)]),
    ("drop the first", lambda run: _segment(0)(run).unlink(), [("audit/000000.log", 0)]),
    ("drop the second", lambda run: _segment(1)(run).unlink(), [("audit/000001.log", 0)]),
    ("shorten the first", _shorten(0, 2), [("audit/000000.log", 4)]),
    ("shorten an unsealed one", _shorten(1, 1), [("audit/000001.log", 3)]),
    ("empty one", lambda run: _segment(1)(run).write_bytes(b""), [("audit/000001.log", 1)]),
    ("another run's segment", _foreign, [("audit/000001.log", 1)]),
    (
        "another manifest",
        lambda run: (run / "manifest.json").write_text("{ }"),
        [(f"audit/00000{number}.log", 1) for number in range(3)],
    ),
    (
        "rename",
        lambda run: _segment(2)(run).rename(_segment(3)(run)),
        [("audit/000003.log", 1), ("audit/000002.log", 0)],
    ),
    ("change a trial", _flip_trial, [("segments/000000.log", 3)]),
]


@pytest.mark.parametrize(
    ("attack", "found"), [case[1:] for case in ATTACKS], ids=[case[0] for case in ATTACKS]
)
def test_an_attack_on_whole_segments_is_found(
    attack: Callable[[Path], object], found: list[tuple[str, int]], tmp_path: Path
) -> None:
    _run(tmp_path)
    attack(tmp_path)
    assert _damage(tmp_path) == found
    assert verify_run(tmp_path).intact is not bool(found)


def _anew(run_dir: Path) -> None:
    _segment(2)(run_dir).unlink()
    write(run_dir, 5, 7)


@pytest.mark.parametrize(
    "attack",
    [
        lambda run: _segment(2)(run).unlink(),
        _shorten(2, 1),
        _anew,
    ],
    ids=["drop the last", "unseal the last", "write the last anew"],
)
def test_a_kept_head_shows_what_the_chain_alone_cannot(
    attack: Callable[[Path], object], tmp_path: Path
) -> None:
    _run(tmp_path)
    head = verify_run(tmp_path).head
    assert verify_run(tmp_path, expect=head).intact
    attack(tmp_path)
    assert verify_run(tmp_path).intact
    assert _damage(tmp_path, expect=head) == [("audit", 0)]


def test_a_kept_head_still_fits_when_the_run_went_on(tmp_path: Path) -> None:
    _run(tmp_path)
    head = verify_run(tmp_path).head
    write(tmp_path, 7)
    later = verify_run(tmp_path, expect=head)
    assert later.intact
    assert later.head != head
    assert "since the expected head: 1" in later.findings[-1].problem


def test_writers_at_work_at_the_same_time_name_what_they_saw(tmp_path: Path) -> None:
    with AuditLog(tmp_path) as one, AuditLog(tmp_path) as two:
        for number in range(4):
            one.append("execution", record(number))
            two.append("execution", record(number))
        notes = verify(tmp_path)
        assert [(note.segment, note.damage) for note in notes] == [
            ("audit/000000.log", False),
            ("audit/000001.log", False),
        ]
    assert verify(tmp_path) == ()
    assert [state.records for state in verify_run(tmp_path).audit_segments] == [4, 4]


def test_a_run_without_audit_log_is_noted_and_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run directory"):
        verify(tmp_path)
    with RunLog(tmp_path) as log:
        log.append(TrialRecord(trial=trial(0)))
    found = verify_run(tmp_path)
    assert (found.intact, found.head) == (True, "")
    assert [finding.problem for finding in found.findings] == ["there is no audit log"]
    assert _damage(tmp_path, expect="0" * 64) == [("audit", 0)]
