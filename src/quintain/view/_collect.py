"""From evaluations and groups to the parts of a report. Pure; reads no log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quintain.evaluate import Evaluation, Metric, Paired, compare
from quintain.types import CasesSpec, Group, Outcome, Task, Trial
from quintain.view._model import (
    Attempt,
    CaseLine,
    Exhibit,
    ExhibitKind,
    HeldOutPoint,
    LevelCell,
    Result,
)

__all__ = ["choose_exhibits", "held_out_point", "level_cells", "result"]


def result(
    name: str, before: Evaluation, after: Evaluation, *, family: str | None = None, note: str = ""
) -> Result:
    """Pair two evaluations, by both metrics where both measured them."""

    def change(metric: Metric) -> Paired | None:
        scope = [
            (side.total if family is None else side.families.get(family))
            for side in (before, after)
        ]
        rates = [None if s is None else getattr(s, metric) for s in scope]
        if None in rates:
            return None
        return compare(before, after, family=family, metric=metric)

    return Result(name=name, note=note, greedy=change("greedy"), sampled=change("sampled"))


def held_out_point(step: int, evaluation: Evaluation) -> HeldOutPoint:
    """Place an evaluation on the held-out curve."""
    total = evaluation.total
    return HeldOutPoint(
        step=step, sampled=total.sampled, ci95=total.sampled_ci95, greedy=total.greedy, n=total.n
    )


def level_cells(before: Evaluation, after: Evaluation) -> tuple[LevelCell, ...]:
    """Put both evaluations' sampled rates (greedy where none) into family by level cells."""
    sides = [
        {(cell.family, cell.level): cell.summary for cell in side.levels}
        for side in (before, after)
    ]
    metric = "greedy" if before.total.sampled is None or after.total.sampled is None else "sampled"
    return tuple(
        LevelCell(
            family=family,
            level=level,
            before=getattr(sides[0].get((family, level)), metric, None),
            after=getattr(sides[1].get((family, level)), metric, None),
            n=max(side[family, level].n for side in sides if (family, level) in side),
        )
        for family, level in sorted(sides[0].keys() | sides[1].keys())
    )


def choose_exhibits(
    before: Sequence[Group],
    after: Sequence[Group],
    *,
    solved: int = 3,
    failing: int = 2,
    lost: int = 1,
) -> tuple[Exhibit, ...]:
    """Choose trials to read: the first scored one of each task, base against final.

    Spreads the choice over families, and within a family takes the hardest solved and the easiest
    that still fail or were lost. Losses are shown too, or the choice would flatter.
    """
    finals = {group.task.id: group for group in after}
    pairs = [_exhibit(group, finals[group.task.id]) for group in before if group.task.id in finals]
    found = [exhibit for exhibit in pairs if exhibit is not None]
    return (
        *_spread(found, ExhibitKind.SOLVED, solved, lambda exhibit: -exhibit.level),
        *_spread(found, ExhibitKind.FAILING, failing, lambda exhibit: exhibit.level),
        *_spread(found, ExhibitKind.LOST, lost, lambda exhibit: exhibit.level),
    )


def _exhibit(before: Group, after: Group) -> Exhibit | None:
    attempts = [_first_attempt(group) for group in (before, after)]
    old, new = attempts
    if old is None or new is None or (old.passed and new.passed):
        return None
    kinds = {(False, True): ExhibitKind.SOLVED, (True, False): ExhibitKind.LOST}
    task = before.task
    return Exhibit(
        kind=kinds.get((old.passed, new.passed), ExhibitKind.FAILING),
        family=task.family,
        level=task.level,
        task_id=task.id,
        prompt=task.prompt,
        before=old,
        after=new,
    )


def _first_attempt(group: Group) -> Attempt | None:
    for trial in group.trials_G:
        if trial.verdict.outcome is Outcome.SCORED:
            return _attempt(group.task, trial)
    return None


def _attempt(task: Task, trial: Trial) -> Attempt:
    verdict = trial.verdict
    return Attempt(
        submission=trial.submission.text,
        passed=trial.reward is not None and trial.reward.value == 1,
        evidence=verdict.evidence,
        cases=tuple(
            CaseLine(call=_call(task, i), passed=case.passed, evidence=case.evidence)
            for i, case in enumerate(verdict.cases)
        ),
        flags=verdict.flags,
    )


def _call(task: Task, index: int) -> str:
    """Return the call of a case that the prompt shows; a published report keeps the rest hidden."""
    spec = task.judge
    if isinstance(spec, CasesSpec) and index < len(spec.cases) and spec.cases[index].visible:
        return f"{spec.entry} ← {spec.cases[index].args}"
    return ""


def _spread(
    exhibits: Sequence[Exhibit], kind: ExhibitKind, wanted: int, order: Callable[[Exhibit], int]
) -> list[Exhibit]:
    """Take ``wanted`` of a kind, in turn from each family."""
    by_family: dict[str, list[Exhibit]] = {}
    for exhibit in sorted(exhibits, key=lambda e: (e.family, order(e), e.task_id)):
        if exhibit.kind is kind:
            by_family.setdefault(exhibit.family, []).append(exhibit)
    queue = [(rank, family) for family, found in by_family.items() for rank in range(len(found))]
    return [by_family[family][rank] for rank, family in sorted(queue)[:wanted]]
