"""Tasks, and what sets of tasks share, as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quintain.tasks.formats import Overlap
    from quintain.types import Task

__all__ = ["brief", "judge", "overlap_lines", "preview", "prompt", "short"]

_WIDE = 60
_CASES = 12


def brief(one: Task) -> dict[str, object]:
    """Return what a list says of a task, for machines; holds no answer."""
    return {
        "id": one.id,
        "variant": one.variant,
        "family": one.family,
        "domain": one.domain,
        "level": one.level,
        "split": one.split.value,
        "phrasing": one.phrasing,
        "judge": judge(one),
        "prompt": one.prompt,
    }


def judge(one: Task) -> str:
    """Say in a word or two how a task is judged."""
    from quintain.types import CasesSpec

    if isinstance(one.judge, CasesSpec):
        return f"{len(one.judge.cases)} cases"
    return one.judge.kind.value if hasattr(one.judge, "kind") else type(one.judge).__name__


def _told_apart(text: str) -> str:
    """Return what tells prompts apart: imported ones begin with the same instruction."""
    head, _, tail = text.partition("\n\n")
    return " ".join((tail if tail.strip() else head).split())


def short(text: str, wide: int = _WIDE) -> str:
    """Cut a text to a width."""
    return text if len(text) <= wide else text[: wide - 1] + "…"


def preview(one: Task) -> str:
    """Write a task for a person to check: prompt, gold, wrong answers, how it is judged.

    Shows expected values: not for the eyes of a policy.
    """
    from quintain.view import visible

    lines = [f"{one.family} level {one.level}, {one.split.value}, {one.id}", f"({one.phrasing})"]
    lines += _block("prompt", one.prompt)
    lines += _block("gold", one.gold)
    for wrong in one.wrong:
        lines += _block(f"wrong ({wrong.kind})", wrong.text)
    return visible("\n".join((*lines, *_judging(one))))


def _block(label: str, text: str) -> list[str]:
    lines = text.strip("\n").splitlines() or [""]
    if len(lines) == 1:
        return [f"  {label}: {lines[0]}"]
    return [f"  {label}:", *[f"    {line}".rstrip() for line in lines]]


def _judging(one: Task) -> Iterator[str]:
    from quintain.judge import wire
    from quintain.types import CasesSpec

    near = f" within {one.judge.tolerance:g}" if getattr(one.judge, "tolerance", 0) else ""
    if not isinstance(one.judge, CasesSpec):
        yield f"  judge: {judge(one)} answer{near}"
        return
    yield f"  judge: {judge(one)}{near}, {one.limits.cpu_s:g} s of CPU"
    for case in one.judge.cases[:_CASES]:
        args = ", ".join(map(repr, wire.decode(case.args)))  # type: ignore[call-overload]  # a tuple
        mark = "  (shown in the prompt)" if case.visible else ""
        call, value = f"{one.judge.entry}({args})", repr(wire.decode(case.expected))
        yield f"    {short(call, 100)} -> {short(value, 100)}{mark}"
    if len(one.judge.cases) > _CASES:
        yield f"    … and {len(one.judge.cases) - _CASES} more"


def overlap_lines(found: Overlap, tasks: dict[str, Task]) -> Iterator[str]:
    """Say what two sets share; the first twenty of each kind are named."""
    yield (
        f"{found.left} and {found.right} tasks: {len(found.same)} problems in both, "
        f"{len(found.near)} pairs of prompts at least {found.threshold:g} alike"
    )
    for identity in found.same[:20]:
        yield f"same  {identity[:8]}  {prompt(tasks[identity])}"
    for pair in found.near[:20]:
        yield f"{pair.similarity:.2f}  {pair.left[:8]}  {prompt(tasks[pair.left])}"
        yield f"      {pair.right[:8]}  {prompt(tasks[pair.right])}"


def prompt(one: Task) -> str:
    """Return the telling part of a prompt on one line, shortened."""
    from quintain.view import visible

    return visible(short(_told_apart(one.prompt)))
