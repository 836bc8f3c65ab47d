"""The report as one HTML page: no script, no network, every text from outside escaped.

Reads top to bottom as an argument: the verdict, what carries it, what could undermine it, and
how to check it. A section without data is left out; a figure without data is a dash.
"""

from __future__ import annotations

import math

from quintain.evaluate import Paired
from quintain.view._charts import held_out_chart, series_chart, training_chart, window
from quintain.view._model import HealthPoint, Result, RunReport
from quintain.view._style import STYLE
from quintain.view._tables import changes_table, facts_table, heat_maps, time_bar
from quintain.view._text import count, duration, escape, interval, percent, points, verdict
from quintain.view._trials import trials

__all__ = ["page"]

# even a mistake in escaping could then neither run a script nor load anything
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_HEALTH: tuple[tuple[str, str, str, bool], ...] = (
    ("ratio_error", "Mismatch", "mean |ratio − 1|, training against sampling; lower is better",
     False),
    ("effective_share", "Effective sample size", "share of tokens that the weights keep", True),
    ("entropy", "Entropy", "nats per token; near 0 the policy no longer explores", False),
    ("zero_advantage", "Groups that teach nothing", "all rewards in the group equal", True),
    ("invalid", "Invalid trials", "lost to infrastructure, never counted as failures", True),
)  # fmt: skip


def page(report: RunReport) -> str:
    """Render the report as a complete HTML document."""
    sections = (
        _header(report), _cards(report.result), _learning(report), _families(report),
        _levels(report), _separation(report), _health(report.health), _time(report),
        trials(report.exhibits), _reproduce(report),
    )  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + "\n<footer>Made by Quintain from the run's log. Intervals are at 95%; held-out changes "
        "are paired by task and made by a bootstrap over tasks.</footer>\n</main>\n</body>\n"
        "</html>\n"
    )


def _header(report: RunReport) -> str:
    sentence = verdict(report.result)
    opening, _, rest = sentence.partition(". ")
    change = report.result.sampled or report.result.greedy
    summary = f'<p class="note">{escape(report.summary)}</p>' if report.summary else ""
    facts = [
        (f"{report.trials:,}", "trials"),
        (f"{report.invalid:,}", "invalid"),
        (duration(report.time.total_s), "in all"),
        (str(report.seed), "seed"),
    ]
    items = "".join(f"<li><b>{escape(value)}</b> {name}</li>" for value, name in facts)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in report.notes)
    return (
        f'<header>\n<p class="over">Post-training run · {escape(report.recipe)}</p>\n'
        f"<h1>{escape(report.title)}</h1>\n"
        f'<p class="lead"><b class="{_tone(change)}">{escape(opening)}.</b> {escape(rest)}</p>\n'
        f'{summary}<ul class="facts">{items}</ul>\n{notes}</header>'
    )


def _tone(change: Paired | None) -> str:
    if change is None or not change.distinguishable:
        return "open"
    return "good" if change.delta > 0 else "bad"


def _cards(result: Result) -> str:
    cards = [
        _card("Sampled pass rate", "mean over the samples of each task", result.sampled),
        _card("Greedy pass rate", "the likeliest answer to each task", result.greedy),
    ]
    return (
        f'<div class="grid">{"".join(cards)}</div>\n<p class="note scope">The intervals cover '
        "which tasks were drawn and which answers were sampled. They do not cover another seed "
        "of the training: this is one run.</p>"
    )


def _card(name: str, note: str, change: Paired | None) -> str:
    if change is None:
        body = '<p class="figure">–</p><p class="note">not measured</p>'
    else:
        body = (
            f'<p class="figure"><span class="from">{percent(change.before)}</span>'
            f'<span class="arrow"> → </span>{percent(change.after)}</p>'
            f'<p><b class="{_tone(change)}">{points(change.delta)} points</b> '
            f'<span class="note">95% interval <span class="whole">{interval(change)}</span>'
            f"</span></p>"
            f'<p class="note">{count(change.n, "held-out task")}: {change.improved:,} better, '
            f"{change.worsened:,} worse, "
            f"{change.n - change.improved - change.worsened:,} unchanged{_unpaired(change)}.</p>"
        )
    return f'<div class="card"><h3>{name}</h3><p class="note">{note}</p>{body}</div>'


def _unpaired(change: Paired) -> str:
    return f"; {change.unpaired:,} left out for lack of a valid trial" if change.unpaired else ""


def _learning(report: RunReport) -> str:
    steps = [p.step for p in report.training] + [p.step for p in report.held_out]
    last = max(steps, default=0)
    cards = []
    if report.training:
        cards.append(
            '<figure class="card"><h3>Training reward</h3><p class="note">'
            f'<span class="key" style="color:var(--amber)"></span>running mean over '
            f"{window(len(report.training))} steps; dots are single steps</p>"
            f"{training_chart(report.training, last)}</figure>"
        )
    if report.held_out:
        cards.append(
            '<figure class="card"><h3>Held-out pass rate</h3><p class="note">'
            '<span class="key" style="color:var(--blue)"></span>sampled, with 95% intervals '
            '&ensp;<span class="key dash" style="color:var(--grey)"></span>greedy</p>'
            f"{held_out_chart(report.held_out, last)}</figure>"
        )
    if not cards:
        return ""
    return _section(
        "Did it learn, or only look like it?",
        "Training reward is no evidence: the curriculum changes the mix of tasks under it. "
        "The held-out curve measures the same held-out tasks each time.",
        f'<div class="grid">{"".join(cards)}</div>',
    )


def _families(report: RunReport) -> str:
    if not report.families:
        return ""
    return _section(
        "Family by family",
        "Change of the sampled pass rate on held-out tasks (greedy where nothing was sampled). "
        "An interval that touches zero is not distinguishable from no change. Intervals are not "
        "adjusted for looking at several families.",
        f'<div class="card scroll">{changes_table((*report.families, report.result))}</div>',
    )


def _levels(report: RunReport) -> str:
    if not report.levels:
        return ""
    return _section(
        "Level by level",
        "Held-out pass rate of each family (row) at each level (column, 1 is the easiest), with "
        "the number of tasks behind each cell. Cells with few tasks move by chance.",
        heat_maps(report.levels),
    )


def _separation(report: RunReport) -> str:
    wall = report.separation
    tone = "good" if wall.overlap == 0 else "bad"
    return _section(
        "What training never saw",
        "",
        f'<div class="card"><p>{escape(wall.definition)}</p><ul class="facts">'
        f"<li><b>{wall.train_problems:,}</b> problems trained on</li>"
        f"<li><b>{wall.held_out_problems:,}</b> held-out problems</li>"
        f'<li><b class="{tone}">{wall.overlap:,}</b> on both sides, by problem hash</li>'
        "</ul></div>",
    )


def _health(health: tuple[HealthPoint, ...]) -> str:
    cards = []
    for field, name, note, share in _HEALTH:
        values = [(p.step, getattr(p, field)) for p in health]
        series = [(s, v) for s, v in values if v is not None and math.isfinite(v)]
        if series:
            chart = series_chart(f"{name} by step", series, share=share)
            cards.append(
                f'<figure class="card"><h3>{name}</h3><p class="note">{note}</p>{chart}</figure>'
            )
    if not cards:
        return ""
    return _section(
        "Was the training healthy?",
        "Each step's own measurements. They explain a result; they do not prove one.",
        f'<div class="grid small">{"".join(cards)}</div>',
    )


def _time(report: RunReport) -> str:
    if report.time.total_s <= 0:
        return ""
    note = f"Wall time of the whole run, {duration(report.time.total_s)}."
    return _section("Where the time went", note, f'<div class="card">{time_bar(report.time)}</div>')


def _reproduce(report: RunReport) -> str:
    tables = "".join(
        f'<div class="card scroll"><h3>{name}</h3>{facts_table(values)}</div>'
        for name, values in (
            ("Configuration", report.config),
            ("Versions", report.versions),
            ("Digests", report.digests),
        )
        if values
    )
    return _section(
        "Reproduce it",
        f"Seed {report.seed}. Equal configuration, versions and seed draw equal tasks; sampled "
        "tokens can differ between machines.",
        f'<pre>{escape(report.command)}</pre><div class="grid">{tables}</div>',
    )


def _section(title: str, note: str, body: str) -> str:
    intro = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section>\n<h2>{escape(title)}</h2>\n{intro}\n{body}\n</section>"
