"""A sampler over any OpenAI-compatible ``/completions`` endpoint.

Invariant: a reply that cannot be understood is a `PolicyError` that names the endpoint, never an
empty completion; the API key is in no message and no record.
Not guaranteed: tokens. They are reported when the server sends all of them, the stop text's
included, and log-probabilities when they are those of the distribution that was sampled.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Self

import anyio
import httpx

from quintain.errors import PolicyError, UserError
from quintain.policy._reply import Reply, read_completion, read_reply
from quintain.policy._sampler import SampleRequest
from quintain.types import Completion, Policy

__all__ = ["LLAMA_CPP", "EndpointSampler"]

LLAMA_CPP: Mapping[str, object] = MappingProxyType({"top_k": 0, "min_p": 0.0})
"""Pass as ``extra`` to a llama.cpp server: its defaults cut the distribution that is sampled."""

_RETRIED = frozenset({408, 425, 429})
_LONGEST_WAIT_S = 30.0
_SEEDS = 2**31
"""Servers take seeds of 31 or 32 bits."""


class EndpointSampler:
    """Samples over HTTP; an async context manager that owns its connections.

    ::

        async with EndpointSampler("http://127.0.0.1:8000/v1", "my-model") as sampler:
            completion = await sampler.sample(request)
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        version: str = "served",
        api_key_env: str | None = None,
        timeout_s: float = 120.0,
        retries: int = 4,
        backoff_s: float = 0.5,
        concurrency: int = 16,
        scaled_logprobs: bool = False,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Name the endpoint; nothing is sent yet.

        ``base_url`` ends where ``/completions`` follows. ``version`` stands for the weights behind
        it. ``api_key_env`` names the environment variable that holds the key. ``timeout_s`` bounds
        each try and ``retries`` the tries after the first, with ``backoff_s`` doubling in between.
        ``scaled_logprobs`` says that the server's log-probabilities follow the temperature; without
        it they are kept only at temperature 1. ``extra`` is merged into each request.
        """
        self._url = _parse(base_url)
        self._model = model
        self._policy = Policy(name=model, version=version)
        self._api_key_env = api_key_env
        self._timeout_s = timeout_s
        self._retries = retries
        self._backoff_s = backoff_s
        self._concurrency = concurrency
        self._scaled_logprobs = scaled_logprobs
        self._extra = dict(extra or {})
        self._key = ""
        self._client: httpx.AsyncClient | None = None
        self._slots: anyio.CapacityLimiter | None = None

    @property
    def policy(self) -> Policy:
        """Return the served model's name and the version the caller gave it."""
        return self._policy

    @property
    def name(self) -> str:
        """Return the endpoint as errors name it, without credentials."""
        return f"{self._url.copy_with(userinfo=b'', query=None)} ({self._model})"

    async def __aenter__(self) -> Self:
        """Open the connections; raises `UserError` when the key's variable is not set."""
        headers = {}
        if self._api_key_env is not None:
            self._key = os.environ.get(self._api_key_env, "")
            if not self._key:
                raise UserError(
                    f"{self.name}: the environment variable {self._api_key_env} is not set",
                    hint="export the endpoint's API key in it",
                )
            headers["Authorization"] = f"Bearer {self._key}"
        self._client = httpx.AsyncClient(headers=headers, timeout=self._timeout_s)
        self._slots = anyio.CapacityLimiter(self._concurrency)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            with anyio.CancelScope(shield=True):
                await client.aclose()

    async def sample(self, request: SampleRequest) -> Completion:
        """Ask for one completion, trying again after faults that may pass.

        Raises `PolicyError` when the endpoint refuses, stays unreachable, or replies with nonsense.
        """
        if self._client is None or self._slots is None:
            raise PolicyError(f"{self.name}: the sampler is not open", hint="use async with")
        async with self._slots:
            reply = await self._ask(self._client, self._body(request))
        keep = self._scaled_logprobs or request.sampling.temperature == 1.0
        return read_completion(self.name, reply, request.sampling, keep_logprobs=keep)

    def _body(self, request: SampleRequest) -> dict[str, object]:
        sampling = request.sampling
        return {
            "model": self._model,
            "prompt": request.prompt,
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": 1.0,
            "seed": request.seed % _SEEDS,
            "logprobs": 1,
            **({"stop": list(sampling.stop)} if sampling.stop else {}),
            **self._extra,
        }

    async def _ask(self, client: httpx.AsyncClient, body: dict[str, object]) -> Reply:
        fault, wait_s = "", 0.0
        for attempt in range(self._retries + 1):
            if attempt:
                await anyio.sleep(max(wait_s, self._pause(attempt)))
            wait_s = 0.0
            try:
                with anyio.fail_after(self._timeout_s):
                    response = await client.post(self._completions_url, json=body)
            except (httpx.TransportError, TimeoutError) as error:
                fault = f"{type(error).__name__} {error}".strip()
                continue
            if response.status_code in _RETRIED or response.status_code >= 500:
                fault, wait_s = self._complaint(response), _retry_after(response)
                continue
            if response.status_code != 200:
                raise PolicyError(f"{self.name}: refused: {self._complaint(response)}")
            return read_reply(self.name, response.content)
        raise PolicyError(f"{self.name}: failed {self._retries + 1} times, at last with: {fault}")

    @property
    def _completions_url(self) -> httpx.URL:
        return self._url.copy_with(path=self._url.path.rstrip("/") + "/completions")

    def _pause(self, attempt: int) -> float:
        """Return the wait before a retry: doubling, with jitter so that callers spread out."""
        longest = min(self._backoff_s * 2.0 ** (attempt - 1), _LONGEST_WAIT_S)
        return longest * (0.5 + random.random() / 2)

    def _complaint(self, response: httpx.Response) -> str:
        """Quote the start of an error reply; some servers echo the key, so it is blotted out."""
        text = " ".join(response.text.split())
        if self._key:
            text = text.replace(self._key, "***")
        return f"HTTP {response.status_code} {text[:300]}".strip()


def _parse(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise UserError(f"{base_url!r} is not a URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UserError(
            f"{base_url!r} is not an endpoint's URL", hint="for instance http://127.0.0.1:8000/v1"
        )
    return url


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds that the server asks to wait, within bounds; 0 when it does not say."""
    try:
        seconds = float(response.headers.get("retry-after", "0"))
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), _LONGEST_WAIT_S) if seconds == seconds else 0.0
