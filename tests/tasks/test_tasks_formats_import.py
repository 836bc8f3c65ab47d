"""Importers: a row becomes a task that its own solution passes, or is refused by name."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from formats_rows import ROWS, ROWS_IN_SOURCE, source, write_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintain.errors import UserError
from quintain.judge import judge, reward, wire
from quintain.sandbox import open_pool
from quintain.tasks.formats import FORMATS, Format, ImportCounts, LeftOut, import_tasks
from quintain.tasks.formats._answers import AnswerDraft
from quintain.tasks.formats._importing import read_drafts
from quintain.tasks.formats._observe import Observations, observe
from quintain.tasks.formats._settle import CodeDraft
from quintain.types import AnswerKind, AnswerSpec, CasesSpec, Split, Submission, Task

BY_NAME = {kind.name: kind for kind in FORMATS}


def imported(
    kind: Format, path: Path, judged: int | None = None
) -> tuple[list[Task], ImportCounts, list[str]]:
    """Import a file, and name what the real judge says otherwise than the task does."""
    counts, wrong = ImportCounts(), list[str]()

    async def run() -> list[Task]:
        async with open_pool(slots=1) as pool:
            stream = import_tasks(kind, path, pool, split=Split.HELD_OUT, counts=counts)
            tasks = [task async for task in stream]
            for task in tasks[:judged]:
                for text, due in [(task.gold, 1.0), *[(w.text, 0.0) for w in task.wrong]]:
                    verdict = (await judge(task, Submission(text=text), pool)).verdict
                    worth = reward(verdict, task.reward)
                    if worth is None or worth.value != due:
                        wrong.append(f"{task.problem[:30]!r} {text!r}: {verdict.evidence}")
            return tasks

    return anyio.run(run), counts, wrong


@pytest.mark.parametrize("name", ROWS)
def test_a_row_becomes_a_task_whose_gold_passes_and_whose_wrong_answers_fail(
    name: str, tmp_path: Path
) -> None:
    tasks, counts, wrong = imported(BY_NAME[name], write_rows(tmp_path / "rows", [ROWS[name]]))
    assert wrong == []
    (task,) = tasks
    assert (counts.rows, counts.tasks, counts.left_out) == (1, 1, [])
    assert task.family == name
    assert task.split is Split.HELD_OUT
    assert len({one.kind for one in task.wrong}) >= 2
    assert task.gold not in task.prompt


def spec_of(name: str, tmp_path: Path, **changes: object) -> CasesSpec:
    path = write_rows(tmp_path / "rows", [{**ROWS[name], **changes}])
    (task,), _, _ = imported(BY_NAME[name], path, judged=0)
    assert isinstance(task.judge, CasesSpec)
    return task.judge


def test_expected_values_are_computed_and_inputs_outside_the_contract_dropped(
    tmp_path: Path,
) -> None:
    path = write_rows(tmp_path / "rows", [ROWS["humaneval_plus"]])
    (task,), counts, _ = imported(BY_NAME["humaneval_plus"], path, judged=0)
    assert isinstance(task.judge, CasesSpec)
    cases = [(wire.decode(c.args), wire.decode(c.expected)) for c in task.judge.cases]
    assert cases == [((4.0,), 2.0), ((1.0,), 0.5), ((0.5,), 0.25)]
    assert counts.dropped_cases == {"arguments outside the declared contract": 1}
    assert [case.visible for case in task.judge.cases] == [True, False, False]


def test_tolerances_are_kept_and_floats_get_the_customary_one(tmp_path: Path) -> None:
    assert spec_of("humaneval_plus", tmp_path, atol=0.01).tolerance == 0.01
    assert spec_of("humaneval_plus", tmp_path).tolerance == 1e-6
    assert spec_of("mbpp_plus", tmp_path).tolerance == 0


def test_tuples_that_json_lists_are_tuples_again_however_deep(tmp_path: Path) -> None:
    spec = spec_of("mbpp_plus", tmp_path)
    args = [wire.decode(case.args) for case in spec.cases]
    assert args == [((1, 2),), ((1, (3, 4)),), ((),), (((5, (6, 7)), 8),)]


def test_calls_of_a_published_test_become_cases_also_computed_and_recursive_ones(
    tmp_path: Path,
) -> None:
    spec = spec_of(
        "humaneval",
        tmp_path,
        prompt="def halve(n):\n",
        canonical_solution="    return 0 if n < 2 else 1 + halve(n - 2)\n",
        test="def check(candidate):\n"
        "    for n in range(5):\n        assert candidate(n) == n // 2\n",
    )
    assert [wire.decode(case.args) for case in spec.cases] == [(n,) for n in range(5)]


LEFT_OUT: dict[str, tuple[str, dict[str, object]]] = {
    "its own solution fails": ("humaneval", {"canonical_solution": "    return n\n"}),
    "does not return the listed": ("quixbugs", {"cases": [[[[1, 2]], [[1, 3]]]]}),
    "a generator is not a plain": (
        "quixbugs",
        {"correct": "def pairs(xs):\n    yield from zip(xs, xs[1:])\n"},
    ),
    "inputs are graphs": ("quixbugs", {"cases": None}),
    "needs a checker": ("humaneval_plus", {"task_id": "HumanEval/32"}),
    "as sets": ("mbpp_plus", {"task_id": "Mbpp/2"}),
    "mix lists and tuples": (
        "mbpp_plus",
        {
            "assertion": "assert turn([1, 2]) == 1\nassert turn((1, 2)) == 1",
            "base_input": [[[1, 2]], [[1, 2]]],
        },
    ),
    "more than literals": (
        "mbpp_plus",
        {"assertion": "assert turn(x) == 1\nassert turn((1,)) == 1"},
    ),
}


@pytest.mark.parametrize("reason", LEFT_OUT)
def test_a_row_that_cannot_be_judged_rightly_is_left_out_with_the_reason(
    reason: str, tmp_path: Path
) -> None:
    name, changes = LEFT_OUT[reason]
    path = write_rows(tmp_path / "rows", [{**ROWS[name], **changes}])
    tasks, counts, _ = imported(BY_NAME[name], path, judged=0)
    assert tasks == []
    assert reason in counts.left_out[0].reason


def test_a_call_that_takes_too_long_is_given_up_and_the_others_count() -> None:
    slow = "def f(n):\n    while n == 1:\n        pass\n    return n\n"

    async def run() -> Observations:
        async with open_pool(slots=1) as pool:
            args = [wire.encode((n,)) for n in (0, 1, 2)]
            return await observe(pool, slow, "f", args, patience_s=0.1)

    seen = anyio.run(run)
    assert seen.fault == ""
    assert [call.value for call in seen.calls] == ["0", None, "2"]
    assert seen.calls[1].refused == "the call takes longer than 0.1 s"


def test_a_solution_that_attacks_the_import_stays_in_its_world(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    attack = (
        f"def pairs(xs):\n    import os\n    try:\n        open({str(outside)!r}, 'w')\n"
        "    except OSError:\n        pass\n    os._exit(0)\n"
    )
    path = write_rows(tmp_path / "rows", [{**ROWS["quixbugs"], "correct": attack}])
    tasks, counts, _ = imported(BY_NAME["quixbugs"], path, judged=0)
    assert tasks == []
    assert "its own solution fails" in counts.left_out[0].reason
    assert not outside.exists()


def test_a_math_answer_that_is_no_number_is_exact_and_says_so(tmp_path: Path) -> None:
    row = ROWS["math500"]
    other = {**row, "unique_id": "test/1.json", "answer": "58,500"}
    tasks, _, _ = imported(BY_NAME["math500"], write_rows(tmp_path / "r", [row, other]))
    kinds = []
    for task in tasks:
        assert isinstance(task.judge, AnswerSpec)
        kinds.append((task.judge.kind, "spelling=exact" in task.phrasing, task.level))
    assert kinds == [(AnswerKind.EXACT, True, 2), (AnswerKind.NUMBER, False, 2)]


REFUSED: Sequence[tuple[str, dict[str, object], str]] = [
    ("gsm8k", {"answer": "no end"}, "$.answer"),
    ("gsm8k", {"question": " "}, "$.question"),
    ("gsm8k", {"question": 5}, "$.question"),
    ("math500", {"level": 9}, "$.level"),
    ("math500", {"level": "2"}, "$.level"),
    ("math500", {"unique_id": "../../etc/passwd"}, "$.unique_id"),
    ("cruxeval_output", {"output": "f(1)"}, "$.output"),
    ("cruxeval_output", {"id": "/etc/passwd"}, "$.id"),
    ("humaneval", {"entry_point": "os.system"}, "$.entry_point"),
    ("humaneval", {"task_id": "a/../../b"}, "$.task_id"),
    ("humaneval", {"test": "pass"}, "$.test"),
    ("humaneval_pack", {"buggy_solution": None}, "$.buggy_solution"),
    ("humaneval_plus", {"base_input": []}, "$.base_input"),
    ("humaneval_plus", {"base_input": [3]}, "$.base_input[0]"),
    ("humaneval_plus", {"plus_input": "none"}, "$.plus_input"),
    ("humaneval_plus", {"atol": -1}, "$.atol"),
    ("humaneval_plus", {"contract": "\n  assert ("}, "$.contract"),
    ("mbpp_plus", {"plus_input": {"a": 1}}, "$.plus_input"),
    ("mbpp_plus", {"assertion": "assert ("}, "$.assertion"),
    ("quixbugs", {"name": "../pairs"}, "$.name"),
    ("quixbugs", {"cases": [[1]]}, "$.cases[0]"),
    ("quixbugs", {"cases": []}, "$.cases"),
]


@pytest.mark.parametrize(("name", "change", "field"), REFUSED)
def test_a_broken_row_is_refused_with_file_line_and_field(
    name: str, change: dict[str, object], field: str, tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [ROWS[name], {**ROWS[name], **change}])
    with pytest.raises(UserError) as caught:
        read_drafts(BY_NAME[name], path)
    assert f"{path}:2: " in caught.value.message
    assert f"`{field}`" in caught.value.message


@pytest.mark.parametrize("name", ROWS)
def test_a_missing_field_and_a_repeated_id_are_refused(name: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [ROWS[name], ROWS[name]])
    with pytest.raises(UserError, match=r":2: id .* again, first at .*:1"):
        read_drafts(BY_NAME[name], path)
    write_rows(path, [{}])
    with pytest.raises(UserError, match=r":1: Object missing required field `\w+`"):
        read_drafts(BY_NAME[name], path)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', "[1]", "null", "{", "[" * 100_000, '"' + "9" * 10 + '"', "1" * 9999],
)
def test_a_line_that_is_no_row_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(UserError, match=r"rows.jsonl:1: "):
        read_drafts(BY_NAME["gsm8k"], path)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_mutated_row_is_read_or_left_out_or_refused_but_never_crashes(
    data: st.DataObject, tmp_path: Path
) -> None:
    name = data.draw(st.sampled_from(sorted(ROWS)))
    row = json.loads(json.dumps(ROWS[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        field = data.draw(st.sampled_from(sorted(row)))
        if isinstance(row[field], str) and data.draw(st.booleans()):
            at = data.draw(st.integers(0, len(row[field])))
            row[field] = row[field][:at] + data.draw(st.text(max_size=3)) + row[field][at + 2 :]
        else:
            row[field] = data.draw(JUNK)
    path = tmp_path / "mutated.jsonl"
    path.write_text(json.dumps(row))
    complaint = ""
    try:
        ((_, draft),) = read_drafts(BY_NAME[name], path)
        assert isinstance(draft, LeftOut | AnswerDraft | CodeDraft)
    except UserError as error:
        complaint = error.message
    assert not complaint or f"{path}:1: " in complaint


@pytest.mark.parametrize("name", ROWS_IN_SOURCE)
def test_every_row_of_the_public_source_is_read(name: str) -> None:
    drafts = read_drafts(BY_NAME[name], source(name))
    assert len(drafts) == ROWS_IN_SOURCE[name]


@pytest.mark.parametrize("name", ROWS_IN_SOURCE)
def test_published_solutions_pass_in_the_real_sandbox_on_a_sample(
    name: str, tmp_path: Path
) -> None:
    path = source(name)
    content = path.read_bytes()
    lines = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).splitlines()
    sample = tmp_path / "sample.jsonl"
    sample.write_bytes(b"\n".join(lines[:3]))
    tasks, counts, wrong = imported(BY_NAME[name], sample)
    assert wrong == []
    assert counts.rows == 3
    assert len(tasks) + len(counts.left_out) == 3
