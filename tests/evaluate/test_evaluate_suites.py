"""Evaluations count what was measured, leave out faults, and refuse what training saw."""

from __future__ import annotations

import random
from collections.abc import Sequence

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quintain.evaluate
from quintain.codec import decode, encode
from quintain.errors import UserError
from quintain.evaluate import Evaluation, Paired, check_overlap, compare, evaluate, summarise
from quintain.types import (
    AnswerKind,
    AnswerSpec,
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

BASE, TUNED = Policy(name="tiny", version="0"), Policy(name="tiny", version="7")
Value = float | None
"""A reward, or None for an infrastructure fault."""


def a_task(index: int, *, family: str = "sums", level: int = 1, **changes: object) -> Task:
    task = Task(
        family=family,
        family_version="1",
        domain="maths",
        level=level,
        split=Split.HELD_OUT,
        problem=f"{level}:{index}",
        phrasing="plain",
        prompt=f"What is {index} + 1?",
        gold=str(index + 1),
        wrong=(),
        judge=AnswerSpec(kind=AnswerKind.NUMBER, expected=str(index + 1)),
    )
    return msgspec.structs.replace(task, **changes)


def a_trial(task: Task, sample: int, value: Value, policy: Policy, outcome: Outcome) -> Trial:
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
        submission=Submission(text=""),
        verdict=Verdict(outcome=outcome, judge=JudgeId(name="answer", digest="0")),
        reward=None if value is None else Reward(value=value, rule="all_or_nothing"),
        costs=Costs(),
    )


def a_group(task: Task, values: Sequence[Value], policy: Policy = BASE) -> Group:
    trials = [
        a_trial(task, i, v, policy, Outcome.INVALID if v is None else Outcome.SCORED)
        for i, v in enumerate(values)
    ]
    return Group(task=task, trials_G=tuple(trials))


def measured(rows: Sequence[Sequence[Value]], policy: Policy = BASE) -> Evaluation:
    groups = [a_group(a_task(i), row, policy) for i, row in enumerate(rows)]
    return summarise(suite="held_out", greedy=[], sampled=groups)


def test_all_is_sorted_and_every_name_exists() -> None:
    assert list(quintain.evaluate.__all__) == sorted(quintain.evaluate.__all__)
    assert all(hasattr(quintain.evaluate, name) for name in quintain.evaluate.__all__)


def test_rates_weigh_tasks_alike_by_family_and_level() -> None:
    easy, hard, other = a_task(1), a_task(2, level=2), a_task(3, family="words")
    found = summarise(
        suite="held_out",
        greedy=[a_group(easy, [1.0]), a_group(hard, [0.0]), a_group(other, [1.0])],
        sampled=[
            a_group(easy, [1.0, 1.0]),
            a_group(hard, [0.0, 1.0, 0.0, 0.0]),
            a_group(other, [0.0, 0.0]),
        ],
    )
    assert found.total.greedy == pytest.approx(2 / 3)
    assert (found.total.n, found.total.trials) == (3, 11)
    assert found.total.sampled == pytest.approx((1 + 0.25 + 0) / 3)
    assert found.families["sums"].sampled == pytest.approx(0.625)
    assert [(c.family, c.level, c.summary.n) for c in found.levels] == [
        ("sums", 1, 1),
        ("sums", 2, 1),
        ("words", 1, 1),
    ]
    assert decode(encode(found), Evaluation, where="memory") == found


def test_only_a_reward_of_exactly_one_is_a_pass() -> None:
    assert measured([[0.99, 1.0, 0.5, 0.0]]).total.sampled == 0.25


def test_faults_are_left_out_and_counted_never_failed() -> None:
    found = measured([[1.0, None, None], [None, None, None], [0.0, 1.0, 1.0]])
    assert [score.sampled for score in sorted(found.tasks, key=lambda s: s.samples)] == [
        None,
        1.0,
        pytest.approx(2 / 3),
    ]
    assert found.total.sampled == pytest.approx((1 + 2 / 3) / 2)
    assert (found.total.n, found.total.trials, found.total.invalid) == (3, 4, 5)


def test_a_suite_of_faults_alone_has_no_rate() -> None:
    total = measured([[None], [None]]).total
    assert (total.sampled, total.sampled_ci95, total.greedy, total.invalid) == (None, None, None, 2)


def test_an_abstaining_judge_is_counted_apart_from_faults() -> None:
    task = a_task(1)
    trials = (
        a_trial(task, 0, None, BASE, Outcome.NOT_APPLICABLE),
        a_trial(task, 1, 1.0, BASE, Outcome.SCORED),
    )
    total = summarise(suite="s", greedy=[], sampled=[Group(task=task, trials_G=trials)]).total
    assert (total.sampled, total.invalid, total.abstained) == (1.0, 0, 1)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_unanimous_suites_still_have_an_interval_with_width(value: float) -> None:
    ci95 = measured([[value]] * 30).total.sampled_ci95
    assert ci95 is not None
    assert ci95[0] < ci95[1]
    assert ci95[0] <= value <= ci95[1]


def test_tasks_of_the_train_split_are_refused_by_name() -> None:
    task = a_task(1, split=Split.TRAIN)
    with pytest.raises(UserError, match=f"train split: sums/{task.id[:8]}"):
        summarise(suite="held_out", greedy=[], sampled=[a_group(task, [1.0])])


def test_trials_of_another_task_are_refused() -> None:
    stray = Group(task=a_task(1), trials_G=a_group(a_task(2), [1.0]).trials_G)
    with pytest.raises(UserError, match="belongs to task"):
        summarise(suite="held_out", greedy=[], sampled=[stray])


def test_one_evaluation_measures_one_policy() -> None:
    groups = [a_group(a_task(1), [1.0], BASE), a_group(a_task(2), [1.0], TUNED)]
    with pytest.raises(UserError, match="tiny@0, tiny@7"):
        summarise(suite="held_out", greedy=[], sampled=groups)


def test_the_same_problem_cannot_count_twice() -> None:
    groups = [a_group(a_task(1), [1.0]), a_group(a_task(1, prompt="1 and 1?"), [1.0])]
    with pytest.raises(UserError, match="occurs twice"):
        summarise(suite="held_out", greedy=[], sampled=groups)


def test_a_suite_without_groups_is_an_error_not_a_zero() -> None:
    with pytest.raises(UserError, match="no groups"):
        summarise(suite="held_out", greedy=[], sampled=[])


# --- the paired change -----------------------------------------------------------------------

ROWS = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=4), min_size=2, max_size=9
)


@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(
    rows: list[list[Value]], shuffler: random.Random
) -> None:
    groups = [a_group(a_task(i), row) for i, row in enumerate(rows)]
    mixed = list(groups)
    shuffler.shuffle(mixed)
    one, other = (summarise(suite="s", greedy=[], sampled=each) for each in (groups, mixed))
    assert one == other


def test_a_clear_gain_is_told_apart_from_no_change() -> None:
    before = measured([[0.0, 0.0, 1.0, 0.0]] * 20 + [[0.0] * 4] * 20)
    after = measured([[1.0, 1.0, 1.0, 0.0]] * 20 + [[0.0, 1.0, 0.0, 0.0]] * 20, TUNED)
    change = compare(before, after)
    assert change.delta == pytest.approx(0.375)
    assert change.delta == pytest.approx(change.after - change.before)
    assert (change.n, change.improved, change.worsened, change.unpaired) == (40, 40, 0, 0)
    assert change.distinguishable
    assert change.ci95 is not None
    assert 0 < change.ci95[0] < change.delta < change.ci95[1]
    assert decode(encode(change), Paired, where="memory") == change


def test_one_changed_task_of_many_is_not_distinguishable() -> None:
    before, after = measured([[0.0]] * 20), measured([[1.0]] + [[0.0]] * 19, TUNED)
    change = compare(before, after)
    assert change.delta == pytest.approx(0.05)
    assert not change.distinguishable
    assert change.mde is not None
    assert change.mde > change.delta


def test_a_task_lost_to_faults_on_one_side_is_not_paired() -> None:
    change = compare(measured([[1.0], [0.0], [0.0]]), measured([[None], [1.0], [0.0]], TUNED))
    assert (change.n, change.unpaired) == (2, 1)
    assert (change.before, change.after) == (0.0, 0.5)


def test_tasks_of_one_structure_are_not_independent_evidence() -> None:
    before, after = measured([[0.0]] * 12), measured([[1.0], [0.0]] * 6, TUNED)
    one = {score.task_id: "template" for score in before.tasks}
    change = compare(before, after, structures=one)
    assert (change.estimable, change.ci95, change.clusters, change.mde) == (False, None, 1, None)
    assert change.delta == 0.5
    with pytest.raises(UserError, match="no entry"):
        compare(before, after, structures={})


def test_families_and_metrics_are_compared_apart() -> None:
    words, sums = a_task(1, family="words"), a_task(1)
    sides = [
        summarise(
            suite="s",
            greedy=[a_group(words, [1.0], policy), a_group(sums, [value], policy)],
            sampled=[a_group(words, [0.0], policy), a_group(sums, [0.0], policy)],
        )
        for policy, value in ((BASE, 0.0), (TUNED, 1.0))
    ]
    assert compare(*sides, family="sums", metric="greedy").delta == 1.0
    assert compare(*sides, family="words", metric="greedy").delta == 0.0
    assert compare(*sides, metric="sampled").delta == 0.0
    with pytest.raises(UserError, match="family 'poems'"):
        compare(*sides, family="poems")


def test_a_task_worded_differently_is_not_a_pair() -> None:
    before = summarise(suite="s", greedy=[], sampled=[a_group(a_task(1), [0.0])])
    task = a_task(1, prompt="Hint: it is 2. What is 1 + 1?")
    after = summarise(suite="s", greedy=[], sampled=[a_group(task, [1.0], TUNED)])
    with pytest.raises(UserError, match="different words"):
        compare(before, after)


# --- overlap and the driver ------------------------------------------------------------------


@given(st.sets(st.text(max_size=3)), st.sets(st.text(max_size=3)))
def test_overlap_is_zero_or_an_error(train: set[str], held_out: set[str]) -> None:
    if train & held_out:
        with pytest.raises(UserError, match=f"^{len(train & held_out)} problem"):
            check_overlap(train, held_out)
    else:
        assert check_overlap(train, held_out) == 0


def test_overlap_names_the_problems() -> None:
    with pytest.raises(UserError, match=r"1 problem.*: bbb"):
        check_overlap(["aaa", "bbb"], ["bbb", "ccc"])


def test_evaluate_asks_for_one_greedy_and_k_sampled_trials() -> None:
    asked: list[tuple[str, int, float]] = []

    async def rollout(
        tasks: Sequence[Task], *, phase: str, samples: int, temperature: float
    ) -> list[Group]:
        asked.append((phase, samples, temperature))
        return [a_group(task, [1.0] * samples) for task in tasks]

    async def measure() -> Evaluation:
        tasks = [a_task(1), a_task(2)]
        return await evaluate(tasks, rollout=rollout, phase="eval/before", samples=3)

    found = anyio.run(measure)
    assert asked == [("eval/before/greedy", 1, 0.0), ("eval/before/sampled", 3, 1.0)]
    assert (found.total.greedy, found.total.sampled, found.total.trials) == (1.0, 1.0, 8)


@pytest.mark.parametrize(("split", "samples"), [(Split.TRAIN, 2), (Split.HELD_OUT, 0)])
def test_evaluate_refuses_before_anything_is_sampled(split: Split, samples: int) -> None:
    async def rollout(
        tasks: Sequence[Task], *, phase: str, samples: int, temperature: float
    ) -> list[Group]:
        raise RuntimeError("sampled")

    async def measure() -> Evaluation:
        tasks = [a_task(1, split=split)]
        return await evaluate(tasks, rollout=rollout, samples=samples, greedy=False)

    with pytest.raises(UserError):
        anyio.run(measure)
