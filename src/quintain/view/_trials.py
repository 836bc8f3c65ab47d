"""Trials to read: what was asked, what was handed in, what the judge saw.

Prompts and submissions are hostile text; they reach the page through `escape` alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from quintain.ids import short
from quintain.view._model import Attempt, CaseLine, Exhibit, ExhibitKind
from quintain.view._text import count, escape

__all__ = ["trials"]

_LONGEST, _MOST_CASES, _FEW_CASES = 4000, 12, 5
_TONES = {ExhibitKind.SOLVED: "good", ExhibitKind.FAILING: "open", ExhibitKind.LOST: "bad"}


def trials(exhibits: Sequence[Exhibit]) -> str:
    """Render the section, or nothing when there is nothing to show."""
    if not exhibits:
        return ""
    return (
        "<section>\n<h2>Trials to read</h2>\n"
        '<p class="note">Held-out tasks, the first valid trial of each policy. Chosen by rule, '
        "failures and losses included. Hidden cases stay hidden.</p>\n"
        + "\n".join(_exhibit(exhibit) for exhibit in exhibits)
        + "\n</section>"
    )


def _exhibit(exhibit: Exhibit) -> str:
    return (
        f'<article class="card trial"><p><span class="badge {_TONES[exhibit.kind]}">'
        f"{exhibit.kind}</span><span>{escape(exhibit.family)} · level {exhibit.level} · task "
        f"<code>{escape(short(exhibit.task_id))}</code></span></p>\n"
        f"<h3>Prompt</h3>{_pre(exhibit.prompt)}\n"
        f'<div class="grid"><div><h3>Before</h3>{_attempt(exhibit.before)}</div>'
        f"<div><h3>After</h3>{_attempt(exhibit.after)}</div></div></article>"
    )


def _pre(text: str) -> str:
    cut = len(text) - _LONGEST
    more = f'<p class="note">… and {count(cut, "more character")}</p>' if cut > 0 else ""
    return f"<pre>{escape(text[:_LONGEST])}</pre>{more}"


def _attempt(attempt: Attempt) -> str:
    mark = '<b class="good">passed</b>' if attempt.passed else '<b class="bad">failed</b>'
    evidence = f" · {escape(attempt.evidence)}" if attempt.evidence else ""
    flags = (
        f' · <b class="bad">flags: {escape(", ".join(attempt.flags))}</b>' if attempt.flags else ""
    )
    return (
        f'{_pre(attempt.submission)}<p class="note">{mark}{evidence}{flags}</p>'
        f"{_cases(attempt.cases)}"
    )


def _cases(cases: Sequence[CaseLine]) -> str:
    if not cases:
        return ""
    passed = sum(case.passed for case in cases)
    opened = " open" if len(cases) <= _FEW_CASES else ""
    rows = "".join(_case(i, case) for i, case in enumerate(cases[:_MOST_CASES], start=1))
    more = len(cases) - _MOST_CASES
    rest = f'<tr><td></td><td colspan="2">… and {more:,} more</td></tr>' if more > 0 else ""
    return (
        f"<details{opened}><summary>{passed:,} of {count(len(cases), 'case')} passed</summary>"
        f'<table class="cases">{rows}{rest}</table></details>'
    )


def _case(number: int, case: CaseLine) -> str:
    mark = '<span class="good">✓</span>' if case.passed else '<span class="bad">✗</span>'
    call = f"<code>{escape(case.call)}</code>" if case.call else f"hidden case {number}"
    return f"<tr><td>{mark}</td><td>{call}</td><td>{escape(case.evidence)}</td></tr>"
