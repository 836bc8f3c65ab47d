"""What the rollout tests share: tasks, a judge, samplers, and a rollout with defaults."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import anyio
import anyio.lowlevel

from quintain.errors import (
    PolicyError,
)
from quintain.interface import Interface, Parser
from quintain.judge import Judged
from quintain.policy import SampleRequest, ScriptedSampler
from quintain.rollout import FaultMonitor, rollout
from quintain.testing import FAKE_ISOLATION, MemoryLog
from quintain.types import (
    AnswerKind,
    AnswerSpec,
    Completion,
    Group,
    JudgeId,
    Layer,
    LayerResult,
    Outcome,
    Policy,
    Split,
    StopReason,
    Submission,
    Task,
    TrialKey,
    Verdict,
)

CODE = Interface(name="code", template="{prompt}", parser=Parser.WHOLE)
JUDGE = JudgeId(name="fake", digest="0" * 32)
TOLERANT = FaultMonitor(limit=1.0)


def make_task(number: int) -> Task:
    return Task(
        family="sums",
        family_version="1",
        domain="maths",
        level=1,
        split=Split.TRAIN,
        problem=f"problem {number}",
        phrasing="plain",
        prompt=f"{number}",
        gold=f"{number}",
        wrong=(),
        judge=AnswerSpec(kind=AnswerKind.NUMBER, expected=f"{number}"),
    )


TASKS = [make_task(number) for number in range(6)]


def scored(value: float) -> Judged:
    layers = tuple(
        LayerResult(layer=layer, outcome=Outcome.SCORED, score=score)
        for layer, score in (
            (Layer.INTEGRITY, 1.0),
            (Layer.STRUCTURE, 1.0),
            (Layer.FUNCTION, value),
        )
    )
    verdict = Verdict(outcome=Outcome.SCORED, judge=JUDGE, layers=layers)
    return Judged(verdict=verdict, cpu_s=0.5, isolation=FAKE_ISOLATION)


def spoilt(reason: str) -> Judged:
    return Judged(verdict=Verdict(outcome=Outcome.INVALID, judge=JUDGE, evidence=reason))


async def right_answer(task: Task, submission: Submission) -> tuple[Judged, bool]:
    await anyio.lowlevel.checkpoint()
    return scored(float(submission.text == task.gold)), False


def echo(request: SampleRequest) -> str:
    """Answer right for an even seed and wrong for an odd one."""
    return request.prompt if request.seed % 2 == 0 else "wrong"


class Flaky:
    """A sampler that fails when told to, and takes its time in an order of its own."""

    def __init__(self, fails: Iterator[bool], shuffle: random.Random | None = None) -> None:
        self._fails = fails
        self._shuffle = shuffle
        self.calls: Counter[tuple[str, int]] = Counter()

    @property
    def policy(self) -> Policy:
        return Policy(name="flaky", version="1")

    async def sample(self, request: SampleRequest) -> Completion:
        self.calls[request.prompt, request.seed] += 1
        for _ in range(self._shuffle.randrange(5) if self._shuffle else 1):
            await anyio.lowlevel.checkpoint()
        if next(self._fails):
            raise PolicyError("connection reset")
        return Completion(text=echo(request), stop=StopReason.STOP, token_ids_T=(1, 2, 3))


def keys(groups: list[Group]) -> list[TrialKey]:
    return [trial.key for group in groups for trial in group.trials_G]


def expected_keys(tasks: list[Task], samples: int) -> list[TrialKey]:
    return [
        TrialKey(phase="train", step=3, task_variant=task.variant, sample=sample)
        for task in tasks
        for sample in range(samples)
    ]


async def attempt(tasks: list[Task] = TASKS, /, **changes: object) -> list[Group]:
    """Roll out with what a test does not care about filled in."""
    arguments: dict[str, object] = {
        "sampler": ScriptedSampler(echo),
        "judge": right_answer,
        "log": MemoryLog(),
        "interface": CODE,
        "seed": 5,
        "phase": "train",
        "step": 3,
        "samples": 4,
        **changes,
    }
    return await rollout(tasks, **arguments)  # type: ignore[arg-type]  # a test's defaults
