"""One life of one environment."""

from __future__ import annotations

import math

import pytest

from quintain.env import run_episode
from quintain.errors import PolicyError
from quintain.interface import Interface, Parser
from quintain.policy import SampleRequest, ScriptedSampler
from quintain.types import (
    AnswerKind,
    AnswerSpec,
    Completion,
    Policy,
    Split,
    StopReason,
    Submission,
    Task,
)

pytestmark = pytest.mark.anyio

TASK = Task(
    family="sums",
    family_version="1",
    domain="maths",
    level=1,
    split=Split.TRAIN,
    problem="2+3",
    phrasing="plain",
    prompt="What is 2 + 3?",
    gold="5",
    wrong=(),
    judge=AnswerSpec(kind=AnswerKind.NUMBER, expected="5"),
)
INTERFACE = Interface(
    name="chat",
    template="Q: {prompt}\nA:",
    parser=Parser.LAST_NUMBER,
    max_tokens=9,
    stop=("\n\n",),
)


class _Fixed:
    """A sampler that always returns one completion."""

    def __init__(self, completion: Completion) -> None:
        self._completion = completion

    @property
    def policy(self) -> Policy:
        return Policy(name="fixed", version="1")

    async def sample(self, request: SampleRequest) -> Completion:
        return self._completion


async def test_an_episode_records_what_was_shown_and_written_and_reads_the_answer() -> None:
    asked: list[SampleRequest] = []

    def script(request: SampleRequest) -> str:
        asked.append(request)
        return " 2 + 3 = 5"

    episode = await run_episode(TASK, INTERFACE, ScriptedSampler(script), temperature=0.5, seed=11)
    assert [(request.prompt, request.seed) for request in asked] == [("Q: What is 2 + 3?\nA:", 11)]
    assert asked[0].sampling == INTERFACE.sampling(0.5)
    (turn,) = episode.trajectory.turns
    assert turn.prompt == asked[0].prompt
    assert turn.completion.text == " 2 + 3 = 5"
    assert episode.submission == Submission(text="5")
    assert not episode.trajectory.truncated


async def test_a_completion_cut_off_by_length_is_truncated_and_still_handed_in() -> None:
    completion = Completion(text="I think it is 5 but", stop=StopReason.LENGTH)
    episode = await run_episode(TASK, INTERFACE, _Fixed(completion), temperature=1.0, seed=0)
    assert episode.trajectory.truncated
    assert episode.submission.text == "5"


@pytest.mark.parametrize(
    ("completion", "complaint"),
    [
        (Completion(text="\ud800", stop=StopReason.STOP), "not Unicode"),
        (
            Completion(text="5", stop=StopReason.STOP, token_ids_T=(1,), logprobs_T=(math.nan,)),
            "not finite",
        ),
        (
            Completion(text="5", stop=StopReason.STOP, token_ids_T=(1,), logprobs_T=(-math.inf,)),
            "not finite",
        ),
        (
            Completion(text="5", stop=StopReason.STOP, token_ids_T=(1, 2), logprobs_T=(-1.0,)),
            "1 log-probabilities for 2 tokens",
        ),
    ],
)
async def test_a_completion_that_cannot_be_recorded_is_the_samplers_fault(
    completion: Completion, complaint: str
) -> None:
    with pytest.raises(PolicyError, match=complaint):
        await run_episode(TASK, INTERFACE, _Fixed(completion), temperature=1.0, seed=0)
