"""How verdicts are put together, whichever judge speaks.

Invariant: the digest of a judge covers the source of every module that can change its verdicts and
the task's judge spec, so that equal digests mean equal verdicts on equal executions.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from quintain.codec import digest
from quintain.ids import content_id
from quintain.sandbox import AuditRecord
from quintain.types import (
    AnswerSpec,
    CasesSpec,
    IsolationReport,
    JudgeId,
    JudgeSpec,
    Layer,
    LayerResult,
    Noun,
    Outcome,
    Verdict,
)

__all__ = ["Judged", "invalid", "judge_id", "layers", "shorten"]

_SOURCES = {
    "answer": ("_answer.py", "_finding.py"),
    "cases": (
        "_cases.py",
        "_claims.py",
        "_compare.py",
        "_finding.py",
        "_harness.py",
        "_structure.py",
        "wire.py",
    ),
}
_UNUSED = tuple(
    LayerResult(layer=layer, outcome=Outcome.NOT_APPLICABLE)
    for layer in (Layer.ROBUSTNESS, Layer.QUALITY)
)


class Judged(Noun, frozen=True, kw_only=True):
    """A verdict and what it took to reach it."""

    verdict: Verdict
    cpu_s: float = 0.0
    """Processor seconds of the candidate's world."""
    isolation: IsolationReport | None = None
    """None when nothing was executed."""
    output: str = ""
    """The end of what the candidate itself printed, for people; never looked at by a judge."""
    audit: tuple[AuditRecord, ...] = ()
    """One record for every execution, also of those that gave no verdict, in the order they
    ended."""


def judge_id(spec: JudgeSpec) -> JudgeId:
    """Name the judge of a spec."""
    match spec:
        case CasesSpec():
            name = "cases"
        case AnswerSpec():
            name = "answer"
    return JudgeId(name=name, digest=content_id(_code_digest(name), digest(spec)))


@lru_cache
def _code_digest(name: str) -> str:
    here = Path(__file__).parent
    parts: list[bytes] = [(here / source).read_bytes() for source in _SOURCES[name]]
    return content_id(*parts)


def layers(
    integrity: tuple[float, str] = (1.0, ""),
    structure: tuple[float, str] | None = None,
    function: tuple[float, str] | None = None,
) -> tuple[LayerResult, ...]:
    """Put layer results in order from (score, evidence); None is a layer that was not reached."""
    found = []
    for layer, result in (
        (Layer.INTEGRITY, integrity),
        (Layer.STRUCTURE, structure),
        (Layer.FUNCTION, function),
    ):
        if result is not None:
            score, evidence = result
            found.append(
                LayerResult(layer=layer, outcome=Outcome.SCORED, score=score, evidence=evidence)
            )
    return (*found, *_UNUSED)


def invalid(spec: JudgeSpec, reason: str) -> Verdict:
    """Make the verdict for a fault that is not the candidate's."""
    return Verdict(outcome=Outcome.INVALID, judge=judge_id(spec), evidence=shorten(reason))


def shorten(text: str, limit: int = 200) -> str:
    """Cut a text to one line of at most ``limit`` characters, safe to store and to print."""
    line = text[: limit + 1].encode("ascii", "backslashreplace").decode()
    line = line.replace("\r", "\\r").replace("\n", "\\n")
    return line if len(line) <= limit else line[: limit - 3] + "..."
