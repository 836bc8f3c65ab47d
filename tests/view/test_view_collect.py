"""Parts of a report, made from evaluations and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quintain.evaluate import Evaluation, summarise
from quintain.types import (
    Case,
    CaseResult,
    CasesSpec,
    Costs,
    Group,
    JudgeId,
    Outcome,
    Policy,
    Reward,
    Split,
    Submission,
    Task,
    Trajectory,
    Trial,
    TrialKey,
    Verdict,
)
from quintain.view import ExhibitKind, choose_exhibits, held_out_point, level_cells, result

BASE, FINAL = Policy(name="tiny", version="0"), Policy(name="tiny", version="9")
SECRET = "(424242,)"


def a_group(family: str, level: int, values: Sequence[float | None], policy: Policy) -> Group:
    task = Task(
        family=family, family_version="1", domain="code", level=level, split=Split.HELD_OUT,
        problem=f"{level}", phrasing="plain", prompt=f"Level {level}.", gold="", wrong=(),
        judge=CasesSpec(
            entry="f",
            cases=(
                Case(args="(1,)", expected="2", visible=True),
                Case(args=SECRET, expected="424243"),
            ),
        ),
    )  # fmt: skip
    return Group(
        task=task, trials_G=tuple(a_trial(task, i, v, policy) for i, v in enumerate(values))
    )


def a_trial(task: Task, sample: int, value: float | None, policy: Policy) -> Trial:
    return Trial(
        key=TrialKey(phase="eval", step=0, task_variant=task.variant, sample=sample),
        task_id=task.id,
        family=task.family,
        level=task.level,
        split=task.split,
        policy=policy,
        seed=sample,
        interface="",
        trajectory=Trajectory(turns=(), truncated=False),
        submission=Submission(text=f"{policy.version}:{sample}"),
        verdict=Verdict(
            outcome=Outcome.INVALID if value is None else Outcome.SCORED,
            judge=JudgeId(name="cases", digest="0"),
            cases=(CaseResult(passed=True), CaseResult(passed=value == 1, evidence="returned 7")),
        ),
        reward=None if value is None else Reward(value=value, rule="all_or_nothing"),
        costs=Costs(),
    )


def groups(rows: Mapping[tuple[str, int], Sequence[float | None]], policy: Policy) -> list[Group]:
    return [a_group(family, level, values, policy) for (family, level), values in rows.items()]


def measured(rows: Mapping[tuple[str, int], Sequence[float | None]], policy: Policy) -> Evaluation:
    return summarise(suite="held_out", greedy=[], sampled=groups(rows, policy))


def test_solved_lost_and_failing_tasks_are_all_shown() -> None:
    before = groups({("a", 1): [0.0], ("a", 2): [0.0], ("a", 3): [1.0], ("b", 1): [0.5]}, BASE)
    after = groups({("a", 1): [1.0], ("a", 2): [1.0], ("a", 3): [0.0], ("b", 1): [0.5]}, FINAL)
    shown = choose_exhibits(before, after, solved=1)
    assert [(exhibit.kind, exhibit.family, exhibit.level) for exhibit in shown] == [
        (ExhibitKind.SOLVED, "a", 2),
        (ExhibitKind.FAILING, "b", 1),
        (ExhibitKind.LOST, "a", 3),
    ]
    assert (shown[0].before.submission, shown[0].after.submission) == ("0:0", "9:0")
    assert (shown[0].before.passed, shown[0].after.passed) == (False, True)


def test_the_choice_takes_turns_between_families() -> None:
    rows = {(family, level): [0.0] for family in "abc" for level in (1, 2, 3)}
    before, after = groups(rows, BASE), groups({key: [1.0] for key in rows}, FINAL)
    shown = choose_exhibits(before, after, solved=4)
    assert [(e.family, e.level) for e in shown] == [("a", 3), ("b", 3), ("c", 3), ("a", 2)]


def test_invalid_trials_are_passed_over_and_never_shown_as_failures() -> None:
    before = groups({("a", 1): [None, 0.0], ("a", 2): [None]}, BASE)
    after = groups({("a", 1): [None, 1.0], ("a", 2): [1.0]}, FINAL)
    (only,) = choose_exhibits(before, after)
    assert (only.level, only.before.submission, only.after.submission) == (1, "0:1", "9:1")


def test_hidden_cases_stay_out_of_the_report() -> None:
    before, after = groups({("a", 1): [0.0]}, BASE), groups({("a", 1): [1.0]}, FINAL)
    (only,) = choose_exhibits(before, after)
    assert [case.call for case in only.after.cases] == ["f ← (1,)", ""]
    assert SECRET not in repr(only)
    assert "424243" not in repr(only)


def test_cells_hold_both_rates_and_the_number_of_tasks() -> None:
    before = measured({("a", 1): [0.0, 1.0], ("a", 2): [None, None]}, BASE)
    after = measured({("a", 1): [1.0, 1.0], ("a", 2): [1.0, 0.0], ("b", 1): [0.0]}, FINAL)
    cells = [(c.family, c.level, c.before, c.after, c.n) for c in level_cells(before, after)]
    assert cells == [("a", 1, 0.5, 1.0, 1), ("a", 2, None, 0.5, 1), ("b", 1, None, 0.0, 1)]


def test_a_result_pairs_what_both_sides_measured() -> None:
    rows = {("a", level): [0.0, 0.0] for level in range(5)}
    before, after = measured(rows, BASE), measured({key: [1.0, 0.0] for key in rows}, FINAL)
    whole = result("All", before, after)
    assert whole.greedy is None
    assert whole.sampled is not None
    assert (whole.sampled.delta, whole.sampled.n) == (0.5, 5)
    assert result("b", before, after, family="b").sampled is None


def test_a_held_out_point_carries_its_interval() -> None:
    evaluation = measured({("a", level): [1.0, 0.0] for level in range(5)}, BASE)
    point = held_out_point(30, evaluation)
    assert (point.step, point.sampled, point.greedy, point.n) == (30, 0.5, None, 5)
    assert point.ci95 is not None
    assert point.ci95 == evaluation.total.sampled_ci95
