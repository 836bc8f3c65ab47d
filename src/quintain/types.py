"""The nouns. Read this file first.

- `Limits`, `IsolationReport`: what an execution may use, and which walls stood around it
- `Case`, `CasesSpec`, `AnswerSpec`, `JudgeSpec`: how a task is judged
- `Split`, `WrongAnswer`, `Task`: one problem instance
- `Policy`, `Sampling`, `StopReason`, `Completion`, `Turn`, `Trajectory`: what a policy did
- `Submission`, `Outcome`, `Layer`, `Trust`, `LayerResult`, `CaseResult`, `Verdict`: the finding
- `AllOrNothing`, `Fraction`, `RewardRule`, `Reward`: what that is worth in training
- `Costs`, `TrialKey`, `Trial`, `Group`: one attempt as stored, and the attempts at one task

All nouns are immutable values; they hold no behaviour beyond ids derived from their content.
Axis suffixes of nested sequences: ``_G`` samples of a group, ``_T`` tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from quintain.ids import content_id

__all__ = [
    "AllOrNothing",
    "AnswerKind",
    "AnswerSpec",
    "Case",
    "CaseResult",
    "CasesSpec",
    "Completion",
    "Costs",
    "Fraction",
    "Freshness",
    "Group",
    "IsolationReport",
    "JudgeId",
    "JudgeSpec",
    "Layer",
    "LayerResult",
    "Limits",
    "Noun",
    "Outcome",
    "Policy",
    "Reward",
    "RewardRule",
    "Sampling",
    "Split",
    "StopReason",
    "Submission",
    "Task",
    "Trajectory",
    "Trial",
    "TrialKey",
    "Trust",
    "Turn",
    "Verdict",
    "WrongAnswer",
]


class Noun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all nouns: an immutable value whose fields are named when it is made."""


# --- the world an attempt runs in ------------------------------------------------------------


class Limits(Noun, frozen=True, kw_only=True):
    """What one execution may use. Past a limit it ends with a status that names the limit."""

    cpu_s: float = 2.0
    """Processor seconds, summed over all processes and threads; the limit that decides."""
    wall_s: float = 10.0
    """Seconds on the clock; a guard against sleeping, not a measure of work."""
    memory_mib: int = 512
    processes: int = 64
    disk_mib: int = 64
    inodes: int = 4096
    open_files: int = 256
    output_kib: int = 1024
    """For each of stdout and stderr, and for the sum of fetched files."""


class Freshness(StrEnum):
    """How much of a sandbox is new for each execution."""

    FRESH = "fresh"
    """All namespaces and mounts are new."""
    POOLED = "pooled"
    """Namespaces live with their slot; processes and directories are new."""


class IsolationReport(Noun, frozen=True, kw_only=True):
    """Which walls really stood around an execution."""

    backend: str
    freshness: Freshness
    walls: Mapping[str, bool]
    """Wall name to whether it stood, for instance ``{"net_namespace": True}``."""
    notes: tuple[str, ...] = ()
    """Why a wall is missing, or what stands in for it."""


# --- how a task is judged --------------------------------------------------------------------


class Case(Noun, frozen=True, kw_only=True):
    """One call of the candidate's function, by value."""

    args: str
    """The positional arguments: the wire text of a tuple (`quintain.judge.wire`)."""
    expected: str
    """Wire text of the value that must come back. It never enters the candidate's sandbox."""
    weight: float = 1.0
    visible: bool = False
    """Whether the prompt shows this case to the policy."""


class CasesSpec(Noun, frozen=True, kw_only=True, tag="cases"):
    """Judge by calling a function in the sandbox and comparing values outside it."""

    entry: str
    """Name of the function that the submission must define."""
    cases: tuple[Case, ...]
    expression: bool = False
    """The submission is one expression: the body of ``entry``, whose parameters follow."""
    parameters: tuple[str, ...] = ()
    """Parameter names of ``entry`` when the submission is an expression."""
    tolerance: float = 0.0
    """Absolute tolerance of floats, inside containers too; with 0 they must be equal."""


class AnswerKind(StrEnum):
    """How an answer is compared with the expected one."""

    EXACT = "exact"
    NUMBER = "number"


class AnswerSpec(Noun, frozen=True, kw_only=True, tag="answer"):
    """Judge an answer given as text; nothing is executed."""

    kind: AnswerKind
    expected: str
    tolerance: float = 0.0
    """Absolute tolerance of a `NUMBER`; with 0 the values must be equal, integers exactly."""
    units: tuple[str, ...] = ()
    """Signs that may stand before or after a `NUMBER` and mean nothing, for instance ``$``."""


JudgeSpec = CasesSpec | AnswerSpec


class AllOrNothing(Noun, frozen=True, kw_only=True, tag="all_or_nothing"):
    """1 when the function layer scores exactly 1, else 0."""


class Fraction(Noun, frozen=True, kw_only=True, tag="fraction"):
    """The score of the function layer."""

    exponent: float = 1.0
    """Above 1, partial credit is worth less than its share."""


RewardRule = AllOrNothing | Fraction


# --- problems --------------------------------------------------------------------------------


class Split(StrEnum):
    """Which side of the wall a problem is on; decided by the bucket of `Task.id`."""

    TRAIN = "train"
    HELD_OUT = "held_out"


class WrongAnswer(Noun, frozen=True, kw_only=True):
    """An answer that must be rejected."""

    kind: str
    """What is wrong with it, for instance ``off_by_one``."""
    text: str


class Task(Noun, frozen=True, kw_only=True):
    """One problem instance."""

    family: str
    family_version: str
    domain: str
    level: int
    """1 is the easiest."""
    split: Split
    problem: str
    """Canonical text of the problem, independent of its wording."""
    phrasing: str
    """Name of the wording used."""
    prompt: str
    """What the policy is asked, before an `Interface` frames it."""
    gold: str
    wrong: tuple[WrongAnswer, ...]
    judge: JudgeSpec
    reward: RewardRule = AllOrNothing()
    limits: Limits = Limits()
    image: str = "host"
    """Reference of the image that submissions run in."""

    @property
    def id(self) -> str:
        """Hash of the problem, not of its wording; decides the split."""
        return content_id(self.family, self.problem)

    @property
    def variant(self) -> str:
        """Hash of everything the policy sees."""
        return content_id(self.family, self.family_version, self.problem, self.prompt, self.image)


# --- what a policy did -----------------------------------------------------------------------


class Policy(Noun, frozen=True, kw_only=True):
    """The weights that were sampled."""

    name: str
    version: str
    """Changes whenever the weights do."""


class Sampling(Noun, frozen=True, kw_only=True):
    """How tokens are drawn."""

    temperature: float = 1.0
    """0 takes the likeliest token (greedy)."""
    max_tokens: int = 64
    stop: tuple[str, ...] = ()
    """Texts that end a turn; the stop text itself belongs to the turn's tokens."""


class StopReason(StrEnum):
    """Why a turn ended."""

    STOP = "stop"
    """The policy ended it: end token or stop text."""
    LENGTH = "length"
    """The token limit cut it off."""


class Completion(Noun, frozen=True, kw_only=True):
    """What a sampler returned for one request."""

    text: str
    """Decoded tokens, up to and without the stop text."""
    stop: StopReason
    prompt_token_ids: tuple[int, ...] = ()
    """Empty when the sampler does not know its tokens."""
    token_ids_T: tuple[int, ...] = ()  # noqa: N815
    """As sampled; never made by encoding ``text`` again."""
    logprobs_T: tuple[float, ...] = ()  # noqa: N815
    """Natural logarithm of the probability of each token under the sampled distribution."""


class Turn(Noun, frozen=True, kw_only=True):
    """One completion, and what the environment answered to it."""

    prompt: str
    """The text that the policy continued."""
    completion: Completion
    observation: str = ""


class Trajectory(Noun, frozen=True, kw_only=True):
    """The record of one episode."""

    turns: tuple[Turn, ...]
    truncated: bool
    """A limit ended the episode; the policy did not."""


# --- what it is worth ------------------------------------------------------------------------


class Submission(Noun, frozen=True, kw_only=True):
    """What the policy hands in."""

    text: str
    """The answer, or the source text of a single-file submission."""


class Outcome(StrEnum):
    """Three values, from the judge to the chart."""

    SCORED = "scored"
    INVALID = "invalid"
    """Infrastructure or judge at fault: retried, then masked and counted, never reward 0."""
    NOT_APPLICABLE = "not_applicable"
    """The judge abstains, or the layer does not apply."""


class Layer(StrEnum):
    """What a judge looks at, in this order."""

    INTEGRITY = "integrity"
    STRUCTURE = "structure"
    FUNCTION = "function"
    ROBUSTNESS = "robustness"
    QUALITY = "quality"


class Trust(StrEnum):
    """How far a verdict can be trusted."""

    ISOLATED = "isolated"
    """Computed outside the candidate's world."""
    IN_PROCESS = "in_process"
    """Computed beside candidate code; forgeable in principle."""


class LayerResult(Noun, frozen=True, kw_only=True):
    """One layer's part of a verdict."""

    layer: Layer
    outcome: Outcome
    score: float = 0.0
    """0 to 1; meaningful when ``outcome`` is scored."""
    evidence: str = ""


class CaseResult(Noun, frozen=True, kw_only=True):
    """One case's part of a verdict."""

    passed: bool
    weight: float = 1.0
    evidence: str = ""
    """What came back or went wrong, shortened; holds no expected value."""


class JudgeId(Noun, frozen=True, kw_only=True):
    """Which judge spoke."""

    name: str
    digest: str
    """Hash of the judge's code and of the task's judge spec."""


class Verdict(Noun, frozen=True, kw_only=True):
    """A finding and its evidence; a `RewardRule` turns it into a `Reward`."""

    outcome: Outcome
    judge: JudgeId
    trust: Trust = Trust.ISOLATED
    layers: tuple[LayerResult, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    flags: tuple[str, ...] = ()
    """Signs of tampering; any of them caps the reward at 0."""
    evidence: str = ""
    """One line that a report can quote; the reason when the outcome is not scored."""

    def score(self, layer: Layer) -> float:
        """Return the score of a layer, 0 when it was not reached."""
        for result in self.layers:
            if result.layer is layer and result.outcome is Outcome.SCORED:
                return result.score
        return 0.0


class Reward(Noun, frozen=True, kw_only=True):
    """A number made from a verdict by a declared rule; never an advantage."""

    value: float
    rule: str
    """Tag of the rule."""


class Costs(Noun, frozen=True, kw_only=True):
    """What a trial used."""

    prompt_tokens: int = 0
    sampled_tokens: int = 0
    sampling_s: float = 0.0
    """Wall seconds from request to completion, waiting for a batch included."""
    judging_s: float = 0.0
    sandbox_cpu_s: float = 0.0
    cached: bool = False
    """The verdict of an identical submission was reused."""


class TrialKey(Noun, frozen=True, kw_only=True):
    """Where a trial belongs in its run. No two acknowledged trials of a run share a key."""

    phase: str
    """For instance ``train`` or ``eval/before/greedy``."""
    step: int
    task_variant: str
    sample: int
    """0 … n-1 within the group."""


class Trial(Noun, frozen=True, kw_only=True):
    """One attempt as stored."""

    key: TrialKey
    task_id: str
    family: str
    level: int
    split: Split
    policy: Policy
    seed: int
    interface: str
    """Digest of the interface."""
    trajectory: Trajectory
    submission: Submission
    verdict: Verdict
    reward: Reward | None
    """None unless the verdict is scored."""
    costs: Costs
    isolation: str = ""
    """Digest of the isolation report; empty when nothing was executed."""
    attempts: int = 1
    """1 + the number of retries after infrastructure faults."""
    finished_at: float = 0.0
    """Seconds since the epoch."""

    @property
    def id(self) -> str:
        """Hash of the key; names the trial within its run."""
        key = self.key
        return content_id(key.phase, key.step, key.task_variant, key.sample)


class Group(Noun, frozen=True, kw_only=True):
    """Trials of one task by one policy version."""

    task: Task
    trials_G: tuple[Trial, ...]  # noqa: N815
