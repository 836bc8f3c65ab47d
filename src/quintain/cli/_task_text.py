"""Tasks, and what sets of tasks share, as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quintain.tasks.formats import Overlap
    from quintain.types import Task

__all__ = ["brief", "cut", "judge", "overlap_lines", "prompt", "short"]

_WIDE = 60


def brief(one: Task) -> dict[str, object]:
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
    from quintain.types import CasesSpec

    if isinstance(one.judge, CasesSpec):
        return f"{len(one.judge.cases)} cases"
    return one.judge.kind.value if hasattr(one.judge, "kind") else type(one.judge).__name__


def last_paragraph(prompt: str) -> str:
    """Return what tells prompts apart: imported ones begin with the same instruction."""
    head, _, tail = prompt.partition("\n\n")
    return " ".join((tail if tail.strip() else head).split())


def short(text: str) -> str:
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"


def cut(text: str, most: int = 40, wide: int = 2000) -> str:
    """Keep a description readable when there are a thousand cases or very long values."""
    lines = [line if len(line) <= wide else line[:wide] + "…" for line in text.splitlines()]
    cases = [number for number, line in enumerate(lines) if line.startswith("  case:")]
    if len(cases) > most:
        gone = set(cases[most:])
        lines = [line for number, line in enumerate(lines) if number not in gone]
        lines.append(f"  … and {len(gone)} cases more")
    return "\n".join(lines)


def overlap_lines(found: Overlap, tasks: dict[str, Task]) -> Iterator[str]:
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
    from quintain.view import visible

    return visible(short(last_paragraph(one.prompt)))
