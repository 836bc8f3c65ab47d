"""Policies: whatever produces turns, behind one protocol.

`ScriptedSampler` and `RecordedSampler` need no model, `EndpointSampler` speaks to any
OpenAI-compatible server, `LocalSampler` samples a model in this process. What needs torch is loaded
when it is first named, so importing this package does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from quintain.policy._endpoint import LLAMA_CPP, EndpointSampler
from quintain.policy._prefix_tree import PrefixTree, prefix_tree, split_tree
from quintain.policy._sampler import Sampler, SampleRequest
from quintain.policy._scripted import (
    RecordedSampler,
    ScriptedSampler,
    noop_sampler,
    oracle_sampler,
)

if TYPE_CHECKING:
    from quintain.policy.local import LocalSampler
    from quintain.policy.local_weights import load_model, save_model, smollm2_dir, tiny_model

__all__ = [
    "LLAMA_CPP",
    "EndpointSampler",
    "LocalSampler",
    "PrefixTree",
    "RecordedSampler",
    "SampleRequest",
    "Sampler",
    "ScriptedSampler",
    "load_model",
    "noop_sampler",
    "oracle_sampler",
    "prefix_tree",
    "save_model",
    "smollm2_dir",
    "split_tree",
    "tiny_model",
]

_WITH_TORCH = {
    "LocalSampler": "local",
    "load_model": "local_weights",
    "save_model": "local_weights",
    "smollm2_dir": "local_weights",
    "tiny_model": "local_weights",
}


def __getattr__(name: str) -> object:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WITH_TORCH[name]}"), name)
