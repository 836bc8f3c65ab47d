import subprocess
import sys

import anyio
import pytest

from quintain.errors import PolicyError
from quintain.policy import (
    RecordedSampler,
    Sampler,
    SampleRequest,
    ScriptedSampler,
    noop_sampler,
    oracle_sampler,
)
from quintain.types import Completion, Policy, Sampling, StopReason


def request(prompt: str = "ask", seed: int = 0, stop: tuple[str, ...] = ("\n",)) -> SampleRequest:
    return SampleRequest(prompt=prompt, sampling=Sampling(stop=stop), seed=seed)


def sample(sampler: Sampler, asked: SampleRequest) -> Completion:
    return anyio.run(sampler.sample, asked)


def test_a_script_sees_the_request_and_its_text_ends_at_the_first_stop() -> None:
    sampler = ScriptedSampler(lambda r: f"{r.prompt}{r.seed}; and\nmore")
    assert sample(sampler, request(seed=7)).text == "ask7; and"
    assert sample(sampler, request(seed=7, stop=("\n", ";"))).text == "ask7"


def test_a_script_may_answer_differently_by_seed_and_alike_by_request() -> None:
    sampler = ScriptedSampler(lambda r: str(r.seed % 2))
    assert [sample(sampler, request(seed=s)).text for s in (0, 1, 0)] == ["0", "1", "0"]


def test_an_oracle_refuses_a_prompt_it_has_no_answer_to() -> None:
    sampler = oracle_sampler({"ask": "gold"})
    assert sample(sampler, request()).text == "gold"
    with pytest.raises(PolicyError, match="unknown"):
        sample(sampler, request("unknown"))


def test_noop_answers_nothing() -> None:
    assert sample(noop_sampler(), request()).text == ""


def test_a_recording_plays_back_tokens_and_refuses_what_was_not_recorded() -> None:
    sampler = RecordedSampler(Policy(name="m", version="3"))
    completion = Completion(
        text="x", stop=StopReason.STOP, token_ids_T=(4, 5), logprobs_T=(-0.5, -1.0)
    )
    sampler.record(request(seed=1), completion)
    assert sample(sampler, request(seed=1)) == completion
    with pytest.raises(PolicyError, match="seed 2"):
        sample(sampler, request(seed=2))


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, quintain.policy, quintain.train; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
