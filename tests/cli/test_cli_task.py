"""`quintain task` as a user meets it: data on stdout, talk on stderr, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintain.cli._choose import chosen_family, chosen_tasks, parse_levels
from quintain.errors import UserError
from quintain.tasks import FAMILIES
from quintain.tasks.formats import FORMATS, read_tasks
from quintain.types import Split

FAMILY = FAMILIES[-1].name


def task(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quintain", "task", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )


@given(st.sets(st.integers(1, 9), min_size=1))
def test_levels_are_read_as_written(levels: set[int]) -> None:
    assert parse_levels(",".join(map(str, levels)), 9) == tuple(sorted(levels))
    low, high = min(levels), max(levels)
    assert parse_levels(f"{low}-{high}", 9) == tuple(range(low, high + 1))


@given(st.text(alphabet="0123456789-, x@#", max_size=8))
def test_any_other_levels_are_refused_by_name(text: str) -> None:
    try:
        levels = parse_levels(text, 6)
    except UserError as error:
        levels = ()
        message = error.message
        named = "levels" in message
    else:
        named = bool(levels) and set(levels) <= set(range(1, 7))
    assert named


@pytest.mark.parametrize("count", [1, 5, 7, 12])
def test_a_count_is_kept_exactly_and_spread_over_the_levels(count: int) -> None:
    tasks = chosen_tasks(f"{FAMILY}@2-4#{count}", split=Split.HELD_OUT, seed=1)
    assert len({one.id for one in tasks}) == len(tasks) == count
    assert {one.split for one in tasks} == {Split.HELD_OUT}
    shares = [sum(one.level == level for one in tasks) for level in (2, 3, 4)]
    assert max(shares) - min(shares) <= 1
    assert sum(shares) == count


@pytest.mark.parametrize(
    "text",
    ["nosuch", f"{FAMILY}@", f"{FAMILY}@9", f"{FAMILY}@3-1", f"{FAMILY}#", f"{FAMILY}#0",
     f"{FAMILY}#9999999", f"{FAMILY}@1#5#6", f"{FAMILY} ", "", "../x", f"{FAMILY}@1-3,", "²"],
)  # fmt: skip
def test_what_is_neither_a_file_nor_a_family_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        chosen_family(text)


@pytest.mark.parametrize("verb", ["list", "show", "generate", "import", "export", "overlap"])
def test_every_verb_has_examples(verb: str) -> None:
    done = task(verb, "--help")
    assert done.returncode == 0
    assert f"quintain task {verb} " in done.stdout.partition("Examples:")[2]
    assert "--json" in done.stdout


def test_the_help_of_import_names_every_format() -> None:
    text = task("import", "--help").stdout
    assert [kind.name for kind in FORMATS if kind.name not in text] == []


def test_generated_tasks_go_through_a_file_and_back(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    done = task("generate", f"{FAMILY}@1-2#4", "--seed", 3, "--out", path, "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"tasks": 4, "file": str(path)})
    printed = task("generate", f"{FAMILY}@1-2#4", "--seed", 3)
    assert printed.stdout == path.read_text()
    tasks = list(read_tasks(path))
    listed = [json.loads(line) for line in task("list", path, "--json").stdout.splitlines()]
    assert [row["id"] for row in listed] == [one.id for one in tasks]
    shown = task("show", path, "--id", tasks[2].id[:12])
    assert tasks[2].prompt in shown.stdout
    assert tasks[1].prompt not in shown.stdout
    again = task("generate", f"{FAMILY}#1", "--out", path)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert list(read_tasks(path)) == tasks


def test_a_preview_shows_calls_as_python_writes_them() -> None:
    shown = task("show", "string_expression@3#1").stdout
    assert "  judge: 5 cases, 2 s of CPU\n    answer('" in shown
    assert "tuple" not in shown.partition("judge:")[2]


def test_overlap_answers_with_its_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    task("generate", f"{FAMILY}@4-6#6", "--out", path)
    same = task("overlap", path, path, "--json")
    assert same.returncode == 1
    assert len(json.loads(same.stdout)["same"]) == 6
    apart = task("overlap", path, f"{FAMILY}@4-6#6", "--near", "1", "--json")
    assert (apart.returncode, json.loads(apart.stdout)["same"]) == (0, [])


def test_import_and_export_count_what_they_did(tmp_path: Path) -> None:
    source, out, rows = tmp_path / "gsm8k.jsonl", tmp_path / "tasks.jsonl", tmp_path / "rows.jsonl"
    source.write_text(json.dumps({"question": "What is 2 plus 3?", "answer": "#### 5"}) + "\n")
    done = task("import", "gsm8k", source, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "rows": 1, "tasks": 1, "cases": 0, "left_out": {}, "dropped_cases": {},
    }  # fmt: skip
    assert [one.split for one in read_tasks(out)] == [Split.HELD_OUT]
    exported = task("export", out, rows, "--as", "verl", "--json")
    assert json.loads(exported.stdout) == {"rows": 1, "file": str(rows)}


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "absent.jsonl"),
        ("show", f"{FAMILY}#2", "--id", "zz"),
        ("generate", f"{FAMILY}#2", "nosuch#1", "--out", "OUT"),
        ("import", "nosuch", "SOURCE", "--out", "OUT"),
        ("import", "gsm8k", "SOURCE", "--out", "OUT"),
        ("import", "gsm8k", "SOURCE", "--out", "/dev/null/x"),
        ("export", "SOURCE", "OUT"),
        ("export", f"{FAMILY}#1", "/nonexistent/out"),
        ("overlap", f"{FAMILY}#1", f"{FAMILY}#1", "--near", "2"),
    ],
)
def test_bad_input_ends_with_code_2_and_leaves_nothing(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    source = tmp_path / "source.jsonl"
    source.write_text('{"question": "What is 2 plus 3?", "answer": "#### 5"}\n{"question": 1}\n')
    named = {"SOURCE": source, "OUT": tmp_path / "out"}
    done = task(*[named.get(argument, argument) for argument in arguments])
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") or "\nerror: " in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [source]
