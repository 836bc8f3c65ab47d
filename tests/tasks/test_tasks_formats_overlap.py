"""Overlap is found by hash and by resemblance, and exports carry whole tasks."""

from __future__ import annotations

import importlib.util
import json
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.codec import decode
from quintain.errors import UserError
from quintain.tasks import FAMILIES, stream
from quintain.tasks.formats import EXPORTS, export_tasks, overlap
from quintain.tasks.formats._overlap import _grams, _similar
from quintain.types import AnswerSpec, Split, Task

TASKS = [task for family in FAMILIES for task in stream(family, 3, Split.TRAIN, 5, 4)]
NAILS = "Ann has 1200 nails in her box and sells 200 of them to Bob. How many are left for her?"


def told(prompt: str, problem: str) -> Task:
    return msgspec.structs.replace(TASKS[-1], prompt=prompt, problem=problem)


def test_a_set_overlaps_itself_and_not_the_other_side_of_the_wall() -> None:
    held_out = [task for family in FAMILIES for task in stream(family, 3, Split.HELD_OUT, 5, 4)]
    assert overlap(TASKS, TASKS).same == tuple(sorted(task.id for task in TASKS))
    assert overlap(TASKS, held_out).same == ()


@pytest.mark.parametrize(
    ("prompt", "near"),
    [
        (NAILS.upper().replace(",", ""), True),
        (NAILS + " Say it.", True),
        (NAILS.replace("1200", "1300"), False),
        ("How many nails has Ann?", False),
        ("", False),
    ],
)
def test_the_same_words_in_another_dress_are_near(prompt: str, near: bool) -> None:
    found = overlap([told(NAILS, "a")], [told(prompt, "b")])
    assert found.found is near
    assert [bool(pair.similarity >= 0.8) for pair in found.near] == [True] * near


WORDS = st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij"]), max_size=9).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(
    left=st.lists(WORDS, max_size=5),
    right=st.lists(WORDS, max_size=5),
    threshold=st.sampled_from([0.1, 0.34, 0.5, 0.8, 1.0]),
)
def test_filtering_finds_what_comparing_all_pairs_finds(
    left: list[str], right: list[str], threshold: float
) -> None:
    ours = {f"l{number}": _grams(text) for number, text in enumerate(left)}
    theirs = {f"r{number}": _grams(text) for number, text in enumerate(right)}
    expected = {
        (a, b): len(ours[a] & theirs[b]) / len(ours[a] | theirs[b])
        for a, b in product(ours, theirs)
    }
    found = {(a, b): value for a, b, value in _similar(ours, theirs, threshold)}
    assert found == {pair: value for pair, value in expected.items() if value >= threshold}


@pytest.mark.parametrize("threshold", [0, -1, 1.1, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(UserError, match="threshold"):
        overlap(TASKS, TASKS, threshold=threshold)


def carried(kind: str, path: Path) -> list[Task]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    if kind == "trl":
        return [decode(row["task"], Task, where=kind) for row in rows]
    return [decode(row["extra_info"]["task"], Task, where=kind) for row in rows]


@pytest.mark.parametrize("kind", ["trl", "verl"])
def test_rows_for_trainers_carry_the_whole_task(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert export_tasks(kind, TASKS, path) == len(TASKS)
    assert carried(kind, path) == TASKS


def test_rows_have_the_columns_that_the_trainers_read(tmp_path: Path) -> None:
    number = next(task for task in TASKS if isinstance(task.judge, AnswerSpec))
    export_tasks("verl", [number], tmp_path / "verl.jsonl")
    export_tasks("trl", [number], tmp_path / "trl.jsonl")
    verl = json.loads((tmp_path / "verl.jsonl").read_text())
    assert set(verl) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    assert verl["reward_model"] == {"style": "rule", "ground_truth": number.gold}
    assert verl["prompt"] == [{"role": "user", "content": number.prompt}]
    assert (verl["extra_info"]["split"], verl["extra_info"]["index"]) == ("train", 0)
    trl = json.loads((tmp_path / "trl.jsonl").read_text())
    assert (trl["prompt"], trl["answer"]) == (verl["prompt"], number.gold)


def test_parquet_is_written_or_the_missing_package_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tasks.parquet"
    if importlib.util.find_spec("pyarrow") is None:
        with pytest.raises(UserError) as caught:
            export_tasks("parquet", TASKS, path)
        assert caught.value.hint == "pip install pyarrow"
        assert list(tmp_path.iterdir()) == []
    else:
        assert export_tasks("parquet", TASKS, path) == len(TASKS)
        assert path.read_bytes()[:4] == b"PAR1"
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", EXPORTS)
def test_an_export_of_nothing_is_refused_and_leaves_nothing(kind: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no tasks"):
        export_tasks(kind, [], tmp_path / "rows")
    assert list(tmp_path.iterdir()) == []
