import logging
from collections.abc import Iterator
from typing import Any

import anyio
import msgspec
import pytest
from endpoint_servers import ServerMaker, llama_cpp_server, scripted_servers

from quintain.errors import PolicyError, UserError
from quintain.policy import LLAMA_CPP, EndpointSampler, SampleRequest
from quintain.types import Completion, Sampling, StopReason


@pytest.fixture
def serve() -> Iterator[ServerMaker]:
    with scripted_servers() as make:
        yield make


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    with llama_cpp_server() as url:
        yield url


def request(prompt: str = "ask", seed: int = 1, **sampling: Any) -> SampleRequest:
    return SampleRequest(prompt=prompt, sampling=Sampling(**sampling), seed=seed)


def sample(url: str, *asked: SampleRequest, **options: Any) -> list[Completion]:
    async def run() -> list[Completion]:
        found: dict[int, Completion] = {}
        async with EndpointSampler(url, "m", backoff_s=0.001, **options) as sampler:

            async def one(index: int) -> None:
                found[index] = await sampler.sample(asked[index])

            async with anyio.create_task_group() as group:
                for index in range(len(asked)):
                    group.start_soon(one, index)
        return [found[index] for index in range(len(asked))]

    try:
        return anyio.run(run)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


def reply(text: str = "gold", reason: str | None = "stop", **fields: Any) -> bytes:
    usage = {"completion_tokens": fields.pop("counted", 2)}
    choice = {"text": text, "index": 0, "finish_reason": reason, **fields}
    return msgspec.json.encode({"choices": [choice], "usage": usage, "unknown": [1]})


def test_a_request_carries_prompt_sampling_and_a_seed_that_servers_accept(
    serve: ServerMaker,
) -> None:
    server = serve((200, reply()))
    asked = request(seed=2**62 + 5, temperature=0.7, max_tokens=9, stop=("\n", ";"))
    (found,) = sample(server.url, asked, extra={"top_k": 0})
    assert found == Completion(text="gold", stop=StopReason.STOP)
    sent = msgspec.json.decode(server.bodies[0])
    assert sent["prompt"] == "ask"
    assert (sent["temperature"], sent["max_tokens"], sent["stop"]) == (0.7, 9, ["\n", ";"])
    assert sent["top_p"] == 1.0
    assert sent["top_k"] == 0
    assert 0 <= sent["seed"] < 2**31


@pytest.mark.parametrize("fault", [(429, b"slow down"), (500, b"oops"), (503, b""), (0, b"")])
def test_a_passing_fault_is_tried_again(serve: ServerMaker, fault: tuple[int, bytes]) -> None:
    server = serve(fault, fault, (200, reply()))
    assert sample(server.url, request())[0].text == "gold"
    assert len(server.bodies) == 3


def test_a_lasting_fault_ends_after_the_retries_and_names_the_endpoint(serve: ServerMaker) -> None:
    server = serve((429, b"slow down", {"retry-after": "0.001"}))
    with pytest.raises(PolicyError, match=r"127\.0\.0\.1.*\(m\): failed 3 times.*429 slow down"):
        sample(server.url, request(), retries=2)
    assert len(server.bodies) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 422, 301])
def test_a_refusal_is_final(serve: ServerMaker, status: int) -> None:
    server = serve((status, b'{"error": "context too long"}'))
    with pytest.raises(PolicyError, match=f"refused: HTTP {status}.*context too long"):
        sample(server.url, request())
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html>",
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{"text": 7, "finish_reason": "stop"}]}',
        b'{"choices": [{"finish_reason": "stop"}]}',
        b'{"choices": [{"text": "a", "finish_reason": "stop"}, {"text": "b"}]}',
        b'{"choices": [{"text": "a", "finish_reason": "content_filter"}]}',
        b'{"choices": [{"text": "a", "finish_reason": null}]}',
        b'{"choices": [{"text": "\xff", "finish_reason": "stop"}]}',
    ],
)
def test_a_malformed_reply_is_a_policy_error_not_an_empty_completion(
    serve: ServerMaker, body: bytes
) -> None:
    with pytest.raises(PolicyError, match=r"127\.0\.0\.1"):
        sample(serve((200, body)).url, request())


def test_an_endpoint_that_is_not_there_is_a_policy_error() -> None:
    with pytest.raises(PolicyError, match="failed 2 times"):
        sample("http://127.0.0.1:9/v1", request(), retries=1)


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host/v1", "http://", "http://h:x/"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="URL"):
        EndpointSampler(url, "m")


def test_the_api_key_is_sent_and_appears_nowhere_else(
    serve: ServerMaker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "sk-very-secret"
    monkeypatch.setenv("TEST_ENDPOINT_KEY", secret)
    caplog.set_level(logging.DEBUG)
    server = serve((401, f"bad key {secret}".encode()))
    with pytest.raises(PolicyError) as caught:
        sample(server.url, request(), api_key_env="TEST_ENDPOINT_KEY")
    assert server.headers[0]["authorization"] == f"Bearer {secret}"
    assert secret not in str(caught.value)
    assert secret not in caplog.text


def test_a_key_variable_that_is_not_set_is_a_user_error(serve: ServerMaker) -> None:
    with pytest.raises(UserError, match="TEST_ABSENT_KEY is not set"):
        sample(serve((200, reply())).url, request(), api_key_env="TEST_ABSENT_KEY")


def test_credentials_in_the_url_are_not_named() -> None:
    assert "hunter2" not in EndpointSampler("http://me:hunter2@127.0.0.1/v1", "m").name


VLLM: dict[str, Any] = {
    "token_ids": [5, 6],
    "prompt_token_ids": [1],
    "logprobs": {"token_logprobs": [-0.5, -1.5]},
}
LLAMA: dict[str, Any] = {
    "logprobs": {"content": [{"id": 5, "logprob": -0.5}, {"id": 6, "logprob": -1.5}]}
}


@pytest.mark.parametrize("dialect", [VLLM, LLAMA])
def test_tokens_are_read_in_each_dialect(serve: ServerMaker, dialect: dict[str, Any]) -> None:
    (found,) = sample(serve((200, reply(**dialect))).url, request())
    assert found.token_ids_T == (5, 6)
    assert found.logprobs_T == (-0.5, -1.5)


def test_incomplete_tokens_and_logprobs_of_another_temperature_are_left_out(
    serve: ServerMaker,
) -> None:
    url = serve((200, reply(**LLAMA, counted=3))).url
    (found,) = sample(url, request())
    assert found.token_ids_T == found.logprobs_T == ()
    url = serve((200, reply(**LLAMA))).url
    (found,) = sample(url, request(temperature=0.5))
    assert (found.token_ids_T, found.logprobs_T) == ((5, 6), ())
    (found,) = sample(url, request(temperature=0.5), scaled_logprobs=True)
    assert found.logprobs_T == (-0.5, -1.5)


def test_a_stop_text_in_the_reply_is_cut_off(serve: ServerMaker) -> None:
    (found,) = sample(serve((200, reply("gold\nmore", "length"))).url, request(stop=("\n",)))
    assert (found.text, found.stop) == ("gold", StopReason.STOP)


def test_a_sampler_outside_its_context_refuses() -> None:
    with pytest.raises(PolicyError, match="not open"):
        anyio.run(EndpointSampler("http://127.0.0.1/v1", "m").sample, request())


PROMPT = "# reverse s\ns[::-1]\n# make s upper case\ns.upper()\n# make s lower case\n"


@pytest.mark.slow
def test_a_real_server_completes_a_few_shot_prompt(llama_server: str) -> None:
    asked = request(PROMPT, temperature=0.0, max_tokens=12, stop=("\n",))
    (found,) = sample(llama_server, asked, extra=LLAMA_CPP)
    assert (found.text, found.stop) == ("s.lower()", StopReason.STOP)


@pytest.mark.slow
def test_a_real_server_draws_by_seed_and_reports_tokens_that_it_counts(llama_server: str) -> None:
    draws = [request("Once upon", seed=seed, max_tokens=6, temperature=1.0) for seed in range(6)]
    found = sample(llama_server, *draws, extra=LLAMA_CPP)
    assert len({completion.text for completion in found}) > 1
    for completion in found:
        assert completion.stop is StopReason.LENGTH
        assert len(completion.token_ids_T) == len(completion.logprobs_T) == 6
        assert all(logprob <= 0 for logprob in completion.logprobs_T)


@pytest.mark.slow
def test_a_real_server_refuses_what_does_not_fit(llama_server: str) -> None:
    with pytest.raises(PolicyError, match=r"refused: HTTP 400.*context size"):
        sample(llama_server, request("word " * 5000))
