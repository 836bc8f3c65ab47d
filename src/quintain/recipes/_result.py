"""What a run found, as the one JSON object that `quintain run --json` prints."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from quintain.codec import encode
from quintain.evaluate import Evaluation, Paired, Summary
from quintain.types import Noun

__all__ = ["Change", "HeldOut", "Mismatch", "Rates", "RunResult", "change", "rates", "result_json"]


class Rates(Noun, frozen=True, kw_only=True):
    """Held-out pass rates of one policy; None where nothing was measured."""

    greedy: float | None
    sampled: float | None
    n: int
    """Problems."""


class HeldOut(Noun, frozen=True, kw_only=True):
    """Rates before and after training."""

    family: str
    """Family that ``before`` and ``after`` speak of."""
    before: Rates
    after: Rates
    others: Mapping[str, tuple[Rates, Rates]]
    """The other families: before and after."""
    overlap: int
    """Problems both trained on and held out; always 0, or the run fails."""


class Change(Noun, frozen=True, kw_only=True):
    """Paired difference of pass rates on the same problems."""

    delta: float | None
    ci95: tuple[float, float] | None
    n: int


class Mismatch(Noun, frozen=True, kw_only=True):
    """How far the sampler's probabilities are from the trainer's for the same tokens."""

    first_step: float | None
    """Mean |ratio − 1| over the sampled tokens of the first GRPO step, before any update."""
    worst_step: float | None


class RunResult(Noun, frozen=True, kw_only=True):
    """What a run found."""

    recipe: str
    seed: int
    run_dir: str
    report: str
    """Path of the HTML report."""
    heldout: HeldOut
    paired: Change
    """Sampled pass rates of the code family."""
    paired_greedy: Change
    mismatch: Mismatch
    steps: int
    """GRPO steps made."""
    trials: int
    invalid: int
    seconds: float
    """Working time, interruptions left out."""
    stopped: str
    """Why the run ended before its last step; empty when it did not."""
    digests: Mapping[str, str]


def result_json(result: RunResult) -> str:
    """Return the result as indented JSON."""
    return msgspec.json.format(encode(result), indent=2).decode()


def rates(evaluation: Evaluation | None, family: str) -> Rates:
    """Pick a family's rates out of an evaluation."""
    summary: Summary | None = evaluation.families.get(family) if evaluation else None
    if summary is None:
        return Rates(greedy=None, sampled=None, n=0)
    return Rates(greedy=summary.greedy, sampled=summary.sampled, n=summary.n)


def change(paired: Paired | None) -> Change:
    """Shorten a paired difference to what the result prints."""
    if paired is None:
        return Change(delta=None, ci95=None, n=0)
    return Change(delta=paired.delta, ci95=paired.ci95, n=paired.n)
