"""The report says what was measured, in plain words, and hostile text stays text."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quintain.view
from quintain.codec import decode, encode
from quintain.errors import UserError
from quintain.evaluate import Paired
from quintain.view import (
    Attempt,
    CaseLine,
    Exhibit,
    ExhibitKind,
    HealthPoint,
    HeldOutPoint,
    LevelCell,
    Result,
    RunReport,
    Separation,
    TimeSpent,
    TrainPoint,
    terminal_summary,
    write_report,
)


def a_change(before: float, after: float, half: float | None, **changes: object) -> Paired:
    delta = after - before
    paired = Paired(
        metric="sampled", family="", before=before, after=after, delta=delta,
        ci95=None if half is None else (delta - half, delta + half),
        n=240, clusters=240, estimable=half is not None, mde=None if half is None else 1.43 * half,
        improved=150, worsened=12, unpaired=2,
    )  # fmt: skip
    return msgspec.structs.replace(paired, **changes)


def an_exhibit(kind: ExhibitKind, prompt: str, before: str, after: str) -> Exhibit:
    cases = (
        CaseLine(call="f ← [[3, 1, 2]]", passed=True, evidence="returned [1, 2, 3]"),
        CaseLine(passed=kind is ExhibitKind.SOLVED, evidence="returned None"),
    )
    return Exhibit(
        kind=kind,
        family="list_sort",
        level=3,
        task_id="0123456789abcdef",
        prompt=prompt,
        before=Attempt(
            submission=before, passed=kind is ExhibitKind.LOST, evidence="NameError: name 'x'"
        ),
        after=Attempt(
            submission=after, passed=kind is ExhibitKind.SOLVED, evidence="2 cases", cases=cases
        ),
    )


def an_example() -> RunReport:
    families = ("arithmetic", "list_sort", "string_edit", "truth_table")
    return RunReport(
        title="A 3.2M-parameter model learns four task families",
        recipe="first_steps",
        summary="A small transformer, warmed up on 2,000 gold answers, then trained for 60 steps "
        "of GRPO with 8 samples for each of 16 tasks a step.",
        result=Result(
            name="All held-out tasks",
            sampled=a_change(0.121, 0.583, 0.047),
            greedy=a_change(0.142, 0.629, 0.058, metric="greedy"),
        ),
        families=(
            Result(name="arithmetic", sampled=a_change(0.2, 0.84, 0.07, n=60)),
            Result(name="list_sort", sampled=a_change(0.12, 0.71, 0.09, n=60)),
            Result(name="string_edit", sampled=a_change(0.09, 0.62, 0.1, n=60)),
            Result(
                name="truth_table",
                note="family never trained",
                sampled=a_change(0.07, 0.09, 0.06, n=60),
            ),
        ),
        training=tuple(
            TrainPoint(step=i, reward=0.62 - 0.5 * math.exp(-i / 18) + 0.06 * math.sin(7 * i))
            for i in range(1, 61)
        ),
        held_out=tuple(
            HeldOutPoint(
                step=step,
                sampled=rate,
                ci95=(rate - 0.045, rate + 0.045),
                greedy=rate + 0.03,
                n=240,
            )
            for step, rate in ((0, 0.121), (15, 0.33), (30, 0.46), (45, 0.55), (60, 0.583))
        ),
        levels=tuple(
            LevelCell(
                family=family,
                level=level,
                before=max(0.0, 0.3 - 0.07 * level - 0.02 * i),
                after=max(0.02, 0.98 - 0.12 * level - 0.09 * i),
                n=12,
            )
            for i, family in enumerate(families)
            for level in range(1, 6)
        ),
        health=tuple(
            HealthPoint(
                step=i,
                ratio_error=0.012 + 0.004 * math.sin(i),
                effective_share=0.985 - 0.01 * math.sin(i) ** 2,
                entropy=1.4 * math.exp(-i / 40),
                zero_advantage=0.55 - 0.005 * i,
                invalid=0.0,
            )
            for i in range(1, 61)
        ),
        time=TimeSpent(sampling_s=402, judging_s=61, training_s=233, evaluating_s=140, other_s=18),
        trials=9840,
        invalid=7,
        exhibits=(
            an_exhibit(
                ExhibitKind.SOLVED,
                "Write f(xs): the list, sorted.",
                "x",
                "def f(xs): return sorted(xs)",
            ),
            an_exhibit(
                ExhibitKind.FAILING, "Write f(xs): sort by parity, then value.", "", "xs[::-1]"
            ),
        ),
        separation=Separation(
            definition="A problem's hash, not its wording, decides its side: one bucket in ten is "
            "held out and never drawn for training. The family truth_table is held out whole.",
            train_problems=960,
            held_out_problems=240,
            overlap=0,
        ),
        command="quintain run first_steps --seed 7 --out runs/first_steps",
        seed=7,
        config={"steps": "60", "samples a task": "8", "learning rate": "3e-4"},
        versions={"quintain": "0.1.0", "torch": "2.13.0"},
        digests={"interface": "9f2c1d7a", "judge": "55b0e0aa"},
    )


class Outline(HTMLParser):
    """What a browser would make of a page: its elements, their attributes, and its text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def written(tmp_path: Path, report: RunReport) -> str:
    return write_report(tmp_path / "report.html", report).read_text(encoding="utf-8")


def test_all_is_sorted_and_every_name_exists() -> None:
    assert list(quintain.view.__all__) == sorted(quintain.view.__all__)
    assert all(hasattr(quintain.view, name) for name in quintain.view.__all__)


def test_a_report_survives_the_codec() -> None:
    assert decode(encode(an_example()), RunReport, where="memory") == an_example()


def test_the_page_argues_from_the_verdict_down(tmp_path: Path) -> None:
    document = written(tmp_path, an_example())
    headings = re.findall(r"<h2>(.*?)</h2>", document)
    assert headings == [
        "Did it learn, or only look like it?",
        "Family by family",
        "Level by level",
        "What training never saw",
        "Was the training healthy?",
        "Where the time went",
        "Trials to read",
        "Reproduce it",
    ]
    text = Outline(document).text
    assert "Better. The sampled pass rate on 240 tasks that training never saw went from " in text
    assert "12.1% to 58.3%: +46.2 points, 95% interval +41.5 to +50.9." in text
    assert "240 held-out tasks: 150 better, 12 worse, 78 unchanged; 2 left out" in text
    assert "quintain run first_steps --seed 7" in text


def test_every_element_is_closed_and_ids_are_unique(tmp_path: Path) -> None:
    outline = Outline(written(tmp_path, an_example()))
    assert outline.open == []
    ids = [attrs["id"] for _, attrs in outline.elements if "id" in attrs]
    clips = [name for name in ids if name and not name.startswith(("m", "p"))]
    assert clips == []


def test_the_page_is_self_contained(tmp_path: Path) -> None:
    document = written(tmp_path, an_example())
    assert set(re.findall(r"[\w:-]+=\"https?://[^\"]*\"", document)) <= {
        'xmlns="http://www.w3.org/2000/svg"',
        'xmlns:xlink="http://www.w3.org/1999/xlink"',
    }
    assert len(re.findall(r"https?://", document)) == 2 * document.count("<svg")
    elements = Outline(document).elements
    assert not {tag for tag, _ in elements} & {"script", "link", "img", "iframe", "object", "base"}
    for _, attrs in elements:
        assert "src" not in attrs
        assert (attrs.get("xlink:href") or "#").startswith("#")
    assert "url(" not in document.replace("url(#", "")
    assert "@import" not in document


def test_charts_keep_their_text_and_take_the_colours_of_the_page(tmp_path: Path) -> None:
    document = written(tmp_path, an_example())
    charts = re.findall(r"<svg.*?</svg>", document, flags=re.DOTALL)
    assert len(charts) == 7
    for chart in charts:
        assert ">step</text>" in chart
        assert set(re.findall(r"#[0-9a-f]{6}\b", chart)) == set()


def test_equal_reports_give_equal_bytes(tmp_path: Path) -> None:
    assert written(tmp_path, an_example()) == written(tmp_path / "again", an_example())


HOSTILE = (
    "</pre><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload='alert(1)'>",
    "]]><style>*{display:none}</style>",
    "&lt;b&gt; {{7*7}} $x^2$ %s",
    "\u202egnp.exe\u2066",
    "\x00\x1b[2J\x9b31m\ud800",
)


def infested(report: RunReport, text: str) -> RunReport:
    """The report with ``text`` wherever a report takes text from outside."""
    exhibit = Exhibit(
        kind=ExhibitKind.FAILING,
        family=text,
        level=1,
        task_id=text,
        prompt=text,
        before=Attempt(submission=text, passed=False, evidence=text, flags=(text,)),
        after=Attempt(
            submission=text,
            passed=False,
            cases=(CaseLine(call=text, passed=False, evidence=text),),
        ),
    )
    return msgspec.structs.replace(
        report,
        title=text,
        recipe=text,
        summary=text,
        families=(Result(name=text, note=text, sampled=report.result.sampled),),
        levels=(LevelCell(family=text, level=1, before=0.0, after=None, n=1),),
        exhibits=(exhibit,),
        separation=msgspec.structs.replace(report.separation, definition=text),
        command=text,
        config={text: text},
        versions={text: text},
        digests={text: text},
        notes=(text,),
    )


def markup(document: str) -> list[tuple[str, dict[str, str | None]]]:
    return [(tag, attrs) for tag, attrs in Outline(document).elements if tag != "meta"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_element_and_no_attribute(tmp_path: Path, text: str) -> None:
    # charts take no text from outside, and drawing them is what takes time
    report = msgspec.structs.replace(an_example(), training=(), held_out=(), health=())
    plain = written(tmp_path, infested(report, "plain"))
    hostile = written(tmp_path, infested(report, text))
    assert markup(hostile) == markup(plain)


@given(st.text(alphabet=st.characters(codec=None), max_size=40))
def test_no_text_escapes_into_the_markup(text: str) -> None:
    from quintain.view._text import escape

    outline = Outline(f'<pre title="{escape(text)}">{escape(text)}</pre>')
    assert len(outline.elements) == 1
    assert set(outline.elements[0][1]) == {"title"}
    escape(text).encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE)
def test_the_terminal_is_spared_control_characters(text: str) -> None:
    summary = terminal_summary(infested(an_example(), text))
    assert all(c == "\n" or c.isprintable() for c in summary)


def test_a_run_without_data_still_makes_an_honest_page(tmp_path: Path) -> None:
    report = RunReport(
        title="Nothing yet", recipe="none", result=Result(name="All"), trials=0, invalid=0, seed=0,
        separation=Separation(definition="", train_problems=0, held_out_problems=0, overlap=0),
        command="quintain run none",
    )  # fmt: skip
    text = Outline(written(tmp_path, report)).text
    assert "Nothing was measured on held-out tasks" in text
    assert "0.0%" not in text
    assert terminal_summary(report).splitlines()[-1] == "  held-out greedy   not measured"


def test_a_run_of_one_step_with_gaps_is_drawn(tmp_path: Path) -> None:
    report = msgspec.structs.replace(
        an_example(),
        training=(TrainPoint(step=1, reward=0.0),),
        held_out=(HeldOutPoint(step=0, sampled=None, n=3), HeldOutPoint(step=1, sampled=0.0, n=3)),
        health=(HealthPoint(step=1, ratio_error=0.0, entropy=math.nan),),
        levels=(LevelCell(family="a", level=2, before=None, after=0.5, n=1),),
    )
    text = Outline(written(tmp_path, report)).text
    assert "Mismatch" in text
    assert "Entropy" not in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (a_change(0.1, 0.5, 0.1), "Better. "),
        (a_change(0.5, 0.1, 0.1), "Worse. "),
        (a_change(0.3, 0.35, 0.1), "Not distinguishable from no change. "),
        (a_change(0.3, 0.9, None), "Not enough evidence. "),
    ],
)
def test_the_verdict_says_no_more_than_the_interval(
    tmp_path: Path, change: Paired, said: str
) -> None:
    report = msgspec.structs.replace(an_example(), result=Result(name="All", sampled=change))
    assert said in Outline(written(tmp_path, report)).text
    assert said in terminal_summary(report)


def test_an_undetected_change_comes_with_the_smallest_detectable_one() -> None:
    result = Result(name="All", sampled=a_change(0.3, 0.35, 0.1))
    summary = terminal_summary(msgspec.structs.replace(an_example(), result=result))
    assert "A change below about 14.3 points could not have been told apart." in summary


def test_the_terminal_summary_ends_with_base_and_final_rates() -> None:
    assert terminal_summary(an_example()).splitlines() == [
        "A 3.2M-parameter model learns four task families · first_steps · seed 7",
        "  trials            9,840 (7 invalid, left out)",
        "  time              14 min 14 s: sampling 47%, judging 7%, training 27%, evaluating 16%, "
        "other 2%",
        "  reward            0.221 → 0.591 in training (first and last 6 steps of 60; not "
        "evidence)",
        "  held out          240 problems, overlap with training 0",
        "    arithmetic      base  20.0%  final  84.0%  change +64.0 points (95% interval +57.0 to "
        "+71.0; 60 tasks)",
        "    list_sort       base  12.0%  final  71.0%  change +59.0 points (95% interval +50.0 to "
        "+68.0; 60 tasks)",
        "    string_edit     base   9.0%  final  62.0%  change +53.0 points (95% interval +43.0 to "
        "+63.0; 60 tasks)",
        "    truth_table     base   7.0%  final   9.0%  change +2.0 points (95% interval −4.0 to "
        "+8.0; 60 tasks)",
        "",
        "Better. The sampled pass rate on 240 tasks that training never saw went from 12.1% to "
        "58.3%: +46.2 points, 95% interval +41.5 to +50.9.",
        "  held-out sampled  base  12.1%  final  58.3%  change +46.2 points (95% interval +41.5 to "
        "+50.9; 240 tasks)",
        "  held-out greedy   base  14.2%  final  62.9%  change +48.7 points (95% interval +42.9 to "
        "+54.5; 240 tasks)",
    ]


def test_a_report_that_cannot_be_written_is_the_callers_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        write_report(tmp_path / "file" / "report.html", an_example())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
