"""Tasks as text for people."""

from __future__ import annotations

from quintain.ids import short
from quintain.types import AnswerSpec, CasesSpec, Task

__all__ = ["describe"]


def describe(task: Task) -> str:
    """Write a task as a few lines that a person can check: prompt, gold, wrong answers, cases.

    Shows expected values: not for the eyes of a policy.
    """
    lines = [
        f"{task.family} level {task.level} {task.split.value} {short(task.id)} ({task.phrasing})",
        f"  prompt: {task.prompt}",
        f"  gold:   {task.gold}",
    ]
    lines += [f"  wrong:  {wrong.text}  ({wrong.kind})" for wrong in task.wrong]
    match task.judge:
        case CasesSpec(entry=entry, cases=cases):
            lines += [f"  case:   {entry}{case.args} -> {case.expected}" for case in cases]
        case AnswerSpec(kind=kind, tolerance=tolerance):
            near = f" within {tolerance}" if tolerance else ""
            lines.append(f"  judge:  {kind.value} answer{near}")
    return "\n".join(lines)
