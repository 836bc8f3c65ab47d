"""What a run report says, as plain values that a recipe fills from its log.

Every text may be hostile (prompts and submissions are); the page escapes all of it. None means
"not measured" and is shown as such, never as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from quintain.evaluate import Paired
from quintain.types import Noun

__all__ = [
    "Attempt",
    "CaseLine",
    "Exhibit",
    "ExhibitKind",
    "HealthPoint",
    "HeldOutPoint",
    "LevelCell",
    "Result",
    "RunReport",
    "Separation",
    "TimeSpent",
    "TrainPoint",
]


class Result(Noun, frozen=True, kw_only=True):
    """Base against final on one set of held-out tasks."""

    name: str
    """For instance ``All held-out tasks`` or a family's name."""
    note: str = ""
    """What sets it apart, for instance ``family never trained``."""
    greedy: Paired | None = None
    sampled: Paired | None = None


class TrainPoint(Noun, frozen=True, kw_only=True):
    """One training step."""

    step: int
    reward: float
    """Mean reward of the step's scored trials."""


class HeldOutPoint(Noun, frozen=True, kw_only=True):
    """One held-out measurement during the run; step 0 is the base policy."""

    step: int
    sampled: float | None
    ci95: tuple[float, float] | None = None
    """Interval of ``sampled`` over tasks."""
    greedy: float | None = None
    n: int
    """Tasks."""


class LevelCell(Noun, frozen=True, kw_only=True):
    """Sampled pass rates of one family at one level, held out."""

    family: str
    level: int
    before: float | None
    after: float | None
    n: int
    """Tasks."""


class HealthPoint(Noun, frozen=True, kw_only=True):
    """Signs of trouble at one training step."""

    step: int
    ratio_error: float | None = None
    """Mean |ratio − 1| between the training and the sampling probability of a token."""
    effective_share: float | None = None
    """Effective sample size of the importance weights, as a share of their number."""
    entropy: float | None = None
    """Mean entropy per token, in nats."""
    zero_advantage: float | None = None
    """Share of groups whose rewards are all equal, which teach nothing."""
    invalid: float | None = None
    """Share of trials lost to faults of the infrastructure or the judge."""


class TimeSpent(Noun, frozen=True, kw_only=True):
    """Wall seconds of the run, without double counting."""

    sampling_s: float = 0.0
    judging_s: float = 0.0
    training_s: float = 0.0
    evaluating_s: float = 0.0
    other_s: float = 0.0

    @property
    def total_s(self) -> float:
        """Wall seconds in all."""
        return sum(seconds for _, seconds in self.parts())

    def parts(self) -> tuple[tuple[str, float], ...]:
        """Name and seconds of each part, in the order of the run."""
        return (
            ("sampling", self.sampling_s),
            ("judging", self.judging_s),
            ("training", self.training_s),
            ("evaluating", self.evaluating_s),
            ("other", self.other_s),
        )


class CaseLine(Noun, frozen=True, kw_only=True):
    """One case of a verdict, for people."""

    call: str = ""
    """How the function was called; empty when the case is hidden."""
    passed: bool
    evidence: str = ""


class Attempt(Noun, frozen=True, kw_only=True):
    """One submission and what the judge found."""

    submission: str
    passed: bool
    evidence: str = ""
    cases: tuple[CaseLine, ...] = ()
    flags: tuple[str, ...] = ()


class ExhibitKind(StrEnum):
    """Why a trial is shown."""

    SOLVED = "failed before, solved after"
    FAILING = "still failing"
    LOST = "solved before, failed after"


class Exhibit(Noun, frozen=True, kw_only=True):
    """One held-out task, with what base and final policy handed in."""

    kind: ExhibitKind
    family: str
    level: int
    task_id: str
    prompt: str
    before: Attempt
    after: Attempt


class Separation(Noun, frozen=True, kw_only=True):
    """What training never saw, and how that is known."""

    definition: str
    """How held-out problems are set apart, in a sentence or two."""
    train_problems: int
    """Distinct problems that training saw."""
    held_out_problems: int
    overlap: int
    """Problems on both sides; `quintain.evaluate.check_overlap` refuses any but 0."""


class RunReport(Noun, frozen=True, kw_only=True):
    """Everything that the report of one post-training run shows."""

    title: str
    recipe: str
    summary: str = ""
    """One or two sentences: which model was trained on what, by which method."""
    result: Result
    """The verdict: all held-out tasks together."""
    families: tuple[Result, ...] = ()
    training: tuple[TrainPoint, ...] = ()
    held_out: tuple[HeldOutPoint, ...] = ()
    levels: tuple[LevelCell, ...] = ()
    health: tuple[HealthPoint, ...] = ()
    time: TimeSpent = TimeSpent()
    trials: int
    """Trials in the log, invalid ones included."""
    invalid: int
    exhibits: tuple[Exhibit, ...] = ()
    separation: Separation
    command: str
    """Command line that reproduces the run."""
    seed: int
    config: Mapping[str, str] = {}
    digests: Mapping[str, str] = {}
    versions: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    """What a reader must know before believing the figures."""
