import math
import multiprocessing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import torch

from quintain.errors import PolicyError, UserError
from quintain.policy import (
    LocalSampler,
    SampleRequest,
    load_model,
    local_weights,
    save_model,
    smollm2_dir,
    tiny_model,
)
from quintain.types import Completion, Policy, Sampling, StopReason

TEXTS = ["reverse s\ns[::-1]\n", "count the words in s\nlen(s.split())\n", "é ü 漢字\n"] * 4
PROMPTS = ("reverse s\n", "reverse s, then count the words in s\n", "s", "len(s) 漢\n")


@pytest.fixture(scope="module")
def tiny() -> tuple[Any, Any]:
    torch.set_num_threads(1)
    return tiny_model(TEXTS, seed=0)


def sampler_of(tiny: tuple[Any, Any], **options: Any) -> LocalSampler:
    return LocalSampler(*tiny, Policy(name="tiny", version="0"), **options)


def requests(
    prompts: tuple[str, ...], *, samples: int = 1, temperature: float = 1.0, **sampling: Any
) -> list[SampleRequest]:
    drawn = Sampling(temperature=temperature, **sampling)
    return [
        SampleRequest(prompt=prompt, sampling=drawn, seed=100 * i + j)
        for i, prompt in enumerate(prompts)
        for j in range(samples)
    ]


def sample_all(sampler: LocalSampler, asked: list[SampleRequest]) -> list[Completion]:
    async def run() -> list[Completion]:
        found: dict[int, Completion] = {}

        async def one(index: int) -> None:
            found[index] = await sampler.sample(asked[index])

        async with anyio.create_task_group() as group:
            for index in range(len(asked)):
                group.start_soon(one, index)
        return [found[index] for index in range(len(asked))]

    return anyio.run(run)


@torch.no_grad()
def plain_logprobs(model: Any, completion: Completion, temperature: float) -> list[float]:
    prompt, ids = completion.prompt_token_ids, completion.token_ids_T
    logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1].float()
    found = (logits / temperature).log_softmax(-1).gather(-1, torch.tensor(ids)[:, None])
    return [float(value) for value in found[:, 0]]


def test_a_draw_does_not_depend_on_its_batch_mates(tiny: tuple[Any, Any]) -> None:
    asked = requests(PROMPTS, samples=5, max_tokens=12, stop=("\n",))
    together = sample_all(sampler_of(tiny), asked)
    in_threes = sample_all(sampler_of(tiny, batch_size=3), asked)
    alone = [sample_all(sampler_of(tiny), [one])[0] for one in asked]
    for other in (in_threes, alone):
        assert [c.token_ids_T for c in other] == [c.token_ids_T for c in together]
        assert [c.text for c in other] == [c.text for c in together]


def test_samples_of_one_prompt_differ_and_equal_seeds_agree(tiny: tuple[Any, Any]) -> None:
    asked = requests(PROMPTS[:1], samples=6, max_tokens=8)
    found = sample_all(sampler_of(tiny), asked + asked)
    assert len({c.token_ids_T for c in found}) == 6
    assert found[:6] == found[6:]


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_logprobs_are_those_of_the_plain_model_at_the_temperature(
    tiny: tuple[Any, Any], temperature: float
) -> None:
    asked = requests(PROMPTS, samples=3, max_tokens=16, temperature=temperature)
    for completion in sample_all(sampler_of(tiny), asked):
        expected = plain_logprobs(tiny[0], completion, temperature)
        assert completion.logprobs_T == pytest.approx(expected, abs=1e-4)


def test_greedy_takes_the_likeliest_token_with_certainty(tiny: tuple[Any, Any]) -> None:
    asked = requests(PROMPTS, temperature=0.0, max_tokens=6)
    for completion in sample_all(sampler_of(tiny), asked):
        ids = torch.tensor([completion.prompt_token_ids + completion.token_ids_T])
        with torch.no_grad():
            best = tiny[0](ids).logits[0].argmax(-1)
        start = len(completion.prompt_token_ids) - 1
        assert tuple(best[start:-1].tolist()) == completion.token_ids_T
        assert set(completion.logprobs_T) == {0.0}


def test_draws_follow_the_models_distribution(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    prompt, count = "reverse s\n", 4000
    asked = requests((prompt,), samples=count, max_tokens=1)
    found = sample_all(sampler_of(tiny, batch_size=1000), asked)
    with torch.no_grad():
        probabilities = model(torch.tensor([tokenizer.encode(prompt)])).logits[0, -1].softmax(-1)
    drawn = torch.bincount(
        torch.tensor([c.token_ids_T[0] for c in found]), minlength=len(probabilities)
    )
    expected = probabilities * count
    chi_square = float(((drawn - expected) ** 2 / expected).sum())
    freedom = len(probabilities) - 1
    # Seeds are fixed, so this is one draw; the bound is five standard deviations of chi-square.
    assert chi_square < freedom + 5 * math.sqrt(2 * freedom)


def test_the_stop_text_ends_a_turn_and_stays_in_its_tokens(tiny: tuple[Any, Any]) -> None:
    _, tokenizer = tiny
    free = sample_all(sampler_of(tiny), requests(PROMPTS[:1], samples=8, max_tokens=24))
    for index, completion in enumerate(free):
        stop = completion.text[5:7]
        if "\ufffd" in stop or len(stop) < 2:
            continue
        asked = requests(PROMPTS[:1], samples=8, max_tokens=24, stop=(stop,))[index]
        found = sample_all(sampler_of(tiny), [asked])[0]
        assert found.stop is StopReason.STOP
        assert found.text == completion.text[: completion.text.index(stop)]
        length = len(found.token_ids_T)
        assert found.token_ids_T == completion.token_ids_T[:length]
        decoded = tokenizer.decode(list(found.token_ids_T))
        assert stop in decoded
        assert stop not in tokenizer.decode(list(found.token_ids_T[:-1]))


def test_an_end_token_ends_a_turn_and_leaves_no_text() -> None:
    model, tokenizer = tiny_model(TEXTS, seed=0)
    (asked,) = requests(("reverse s\n",), max_tokens=12)
    free = sample_all(sampler_of((model, tokenizer)), [asked])[0]
    end = free.token_ids_T[7]
    model.generation_config.eos_token_id = [end]
    found = sample_all(sampler_of((model, tokenizer)), [asked])[0]
    length = free.token_ids_T.index(end) + 1
    assert found.stop is StopReason.STOP
    assert found.token_ids_T == free.token_ids_T[:length]
    assert found.text == tokenizer.decode(list(free.token_ids_T[: length - 1]))


def test_the_token_limit_cuts_a_turn_off(tiny: tuple[Any, Any]) -> None:
    found = sample_all(sampler_of(tiny), requests(PROMPTS[:1], samples=4, max_tokens=3))
    assert {c.stop for c in found} == {StopReason.LENGTH}
    assert {len(c.token_ids_T) for c in found} == {3}


def test_a_prompt_too_long_fails_alone_and_names_the_policy(tiny: tuple[Any, Any]) -> None:
    sampler = sampler_of(tiny)
    good, bad = requests(("s", "s " * 2000), max_tokens=2)

    async def refused() -> None:
        with pytest.raises(PolicyError, match=r"tiny@0: .* do not fit"):
            await sampler.sample(bad)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(refused)
            assert len((await sampler.sample(good)).token_ids_T) == 2

    anyio.run(run)


def test_a_model_that_yields_nan_is_a_policy_error(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny_model(TEXTS, seed=0)
    with torch.no_grad():
        model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(PolicyError, match="not finite"):
        anyio.run(sampler_of((model, tokenizer)).sample, requests(("s",))[0])


def test_a_cancelled_caller_does_not_take_the_others_down(tiny: tuple[Any, Any]) -> None:
    sampler = sampler_of(tiny)
    asked = requests(("s",), samples=4, max_tokens=20)
    expected = sample_all(sampler_of(tiny), asked)

    async def run() -> list[Completion]:
        found: dict[int, Completion] = {}

        async def one(index: int) -> None:
            found[index] = await sampler.sample(asked[index])

        async with anyio.create_task_group() as group:
            first = anyio.CancelScope()

            async def cancelled() -> None:
                with first:
                    await sampler.sample(requests(PROMPTS[1:2], max_tokens=400)[0])

            group.start_soon(cancelled)
            await anyio.lowlevel.checkpoint()
            for index in range(len(asked)):
                group.start_soon(one, index)
            await anyio.sleep(0.02)
            first.cancel()
        return [found[index] for index in range(len(asked))]

    assert anyio.run(run) == expected


def test_the_policy_may_change_between_phases_but_not_during_one(tiny: tuple[Any, Any]) -> None:
    sampler = sampler_of(tiny)
    sample_all(sampler, requests(("s",), max_tokens=1))
    sampler.policy = Policy(name="tiny", version="1")
    assert sampler.policy.version == "1"

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(sampler.sample, requests(("s",), max_tokens=4)[0])
            await anyio.lowlevel.checkpoint()
            with pytest.raises(RuntimeError, match="policy changed"):
                sampler.policy = Policy(name="tiny", version="2")

    anyio.run(run)


def test_a_saved_tiny_model_loads_back_and_samples_the_same(
    tiny: tuple[Any, Any], tmp_path: Path
) -> None:
    save_model(*tiny, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    asked = requests(PROMPTS, max_tokens=8)
    assert sample_all(sampler_of(loaded), asked) == sample_all(sampler_of(tiny), asked)


def test_a_tiny_model_is_made_by_its_texts_and_seed_alone() -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one, tokenizer = tiny_model(TEXTS, seed=3)
    two, _ = tiny_model(TEXTS, seed=3)
    other, _ = tiny_model(TEXTS, seed=4)
    assert torch.equal(before, torch.random.get_rng_state())
    weights = [m.get_input_embeddings().weight for m in (one, two, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert sum(p.numel() for p in one.parameters()) < 1_500_000
    assert tokenizer.decode(tokenizer.encode("any text: 漢字 \x00")) == "any text: 漢字 \x00"


def test_a_directory_without_a_model_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing-here"):
        load_model(tmp_path / "nothing-here")


def _place(target: Path, name: str, barrier: Any) -> None:
    with local_weights._replacing(target) as building:
        (building / "config.json").write_text(name)
        (building / "weights").write_text(name)
        barrier.wait(timeout=30)


def test_two_processes_that_convert_at_once_leave_one_whole_result(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    target = tmp_path / "cache" / "model"
    both = [context.Process(target=_place, args=(target, n, barrier)) for n in ("a", "b")]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert (target / "config.json").read_text() == (target / "weights").read_text()
    assert [path.name for path in target.parent.iterdir()] == ["model"]


def test_a_conversion_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), local_weights._replacing(tmp_path / "model"):
        raise ValueError("broken")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_packaged_model_is_converted_once_and_completes_code(tmp_path: Path) -> None:
    try:
        directory = smollm2_dir(tmp_path)
    except UserError as error:
        pytest.skip(str(error))
    written = (directory / "model.safetensors").stat().st_mtime_ns
    assert smollm2_dir(tmp_path) == directory
    assert (directory / "model.safetensors").stat().st_mtime_ns == written
    assert [path.name for path in tmp_path.iterdir()] == [directory.name]
    prompt = "# reverse s\ns[::-1]\n# make s upper case\ns.upper()\n# make s lower case\n"
    sampler = sampler_of(load_model(directory))
    asked = requests((prompt,), temperature=0.0, max_tokens=12, stop=("\n",))
    assert sample_all(sampler, asked)[0].text == "s.lower()"
