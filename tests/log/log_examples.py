"""Records that the log tests share, and the command that writes the golden segment.

``python tests/log/log_examples.py`` writes ``golden/segment_v<SCHEMA_VERSION>.log``. When nouns
change after a release, raise SCHEMA_VERSION first: readers of the released version refuse what they
do not know, and a golden file of a released version is never written again.
"""

from __future__ import annotations

from pathlib import Path

from quintain.codec import digest
from quintain.interface import Interface, Parser
from quintain.log import (
    SCHEMA_VERSION,
    EventRecord,
    HeaderRecord,
    InterfaceRecord,
    IsolationRecord,
    MetricRecord,
    Record,
    TaskRecord,
    TrialRecord,
    encode_line,
)
from quintain.types import (
    AnswerKind,
    AnswerSpec,
    Case,
    CaseResult,
    CasesSpec,
    Completion,
    Costs,
    Fraction,
    Freshness,
    IsolationReport,
    JudgeId,
    Layer,
    LayerResult,
    Outcome,
    Policy,
    Reward,
    Split,
    StopReason,
    Submission,
    Task,
    Trajectory,
    Trial,
    TrialKey,
    Turn,
    Verdict,
    WrongAnswer,
)

GOLDEN = Path(__file__).parent / "golden"

TASK = Task(
    family="doubling",
    family_version="1",
    domain="code",
    level=2,
    split=Split.TRAIN,
    problem="double(x)",
    phrasing="plain",
    prompt="Write f(x) that doubles x − always.\n",
    gold="x * 2",
    wrong=(WrongAnswer(kind="constant", text="4"),),
    judge=CasesSpec(
        entry="f",
        cases=(Case(args="[1]", expected="2"), Case(args="[2]", expected="4", visible=True)),
        expression=True,
        parameters=("x",),
    ),
    reward=Fraction(exponent=2.0),
)
ANSWER_TASK = Task(
    family="sums",
    family_version="3",
    domain="maths",
    level=1,
    split=Split.HELD_OUT,
    problem="2+2",
    phrasing="plain",
    prompt="2 + 2 = ",
    gold="4",
    wrong=(),
    judge=AnswerSpec(kind=AnswerKind.NUMBER, expected="4"),
)
INTERFACE = Interface(name="code", template="# {prompt}", parser=Parser.FIRST_LINE)
ISOLATION = IsolationReport(
    backend="native",
    freshness=Freshness.FRESH,
    walls={"cgroup": False, "net_namespace": True},
    notes=("cgroup: not writable",),
)


def trial(sample: int = 0, *, task: Task = TASK, text: str = "x + x", step: int = 7) -> Trial:
    """One scored attempt."""
    completion = Completion(
        text=text,
        stop=StopReason.STOP,
        prompt_token_ids=(1, 2, 3),
        token_ids_T=(4, 5),
        logprobs_T=(-0.5, -1.25),
    )
    turn = Turn(prompt=INTERFACE.render(task.prompt), completion=completion)
    return Trial(
        key=TrialKey(phase="train", step=step, task_variant=task.variant, sample=sample),
        task_id=task.id,
        family=task.family,
        level=task.level,
        split=task.split,
        policy=Policy(name="tiny", version="step-7"),
        seed=2**62 + sample,
        interface=INTERFACE.digest,
        trajectory=Trajectory(turns=(turn,), truncated=False),
        submission=Submission(text=text),
        verdict=Verdict(
            outcome=Outcome.SCORED,
            judge=JudgeId(name="cases", digest="0" * 32),
            layers=(LayerResult(layer=Layer.FUNCTION, outcome=Outcome.SCORED, score=1.0),),
            cases=(CaseResult(passed=True), CaseResult(passed=True, evidence="4")),
        ),
        reward=Reward(value=1.0, rule="fraction"),
        costs=Costs(prompt_tokens=3, sampled_tokens=2, sampling_s=0.25, sandbox_cpu_s=0.01),
        isolation=digest(ISOLATION),
        finished_at=1.5e9,
    )


def invalid_trial(sample: int) -> Trial:
    """An attempt that the infrastructure spoilt."""
    return Trial(
        key=TrialKey(phase="eval", step=0, task_variant=ANSWER_TASK.variant, sample=sample),
        task_id=ANSWER_TASK.id,
        family=ANSWER_TASK.family,
        level=ANSWER_TASK.level,
        split=ANSWER_TASK.split,
        policy=Policy(name="tiny", version="step-7"),
        seed=1,
        interface=INTERFACE.digest,
        trajectory=Trajectory(turns=(), truncated=False),
        submission=Submission(text=""),
        verdict=Verdict(
            outcome=Outcome.INVALID,
            judge=JudgeId(name="none", digest=""),
            evidence="policy: connection refused",
        ),
        reward=None,
        costs=Costs(),
        attempts=3,
    )


GOLDEN_RECORDS: tuple[Record, ...] = (
    TaskRecord(task=TASK),
    InterfaceRecord(interface=INTERFACE),
    IsolationRecord(report=ISOLATION),
    TrialRecord(trial=trial(0)),
    TrialRecord(trial=trial(1, text="x\n\u2028\x85\x00\"'\\ß𝄞")),
    TaskRecord(task=ANSWER_TASK),
    TrialRecord(trial=invalid_trial(0)),
    MetricRecord(phase="train", step=7, values={"loss": 0.125, "reward": 1.0}),
    EventRecord(kind="resume", message="from step 7", at=1.5e9),
)


def golden_bytes() -> bytes:
    """Return the golden segment as it must be written today."""
    return b"".join(map(encode_line, (HeaderRecord(), *GOLDEN_RECORDS)))


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / f"segment_v{SCHEMA_VERSION}.log").write_bytes(golden_bytes())
