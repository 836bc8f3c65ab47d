"""Draw completions from a causal language model, many prompts at once.

Prompts are prefilled as one prefix tree: what prompts share (the worked examples of an interface,
the prompt of a group) is computed once. Then one token a row is drawn at a time over a key-value
cache whose rows are padded on the left; rows that ended are dropped from it.

Invariant: a row's draws depend on its own logits and its own seed. Two batches differ only by the
rounding of the logits.
Not guaranteed: bit-equal logits across batch sizes; models without full attention in every layer.
Axes: B rows, U distinct prompts, L positions in the cache, V vocabulary.
"""

# ruff: noqa: N803, N806 (axis suffixes)
from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import DynamicCache

from quintain.policy._prefix_tree import prefix_tree, split_tree

__all__ = ["Row", "generate"]

_PREFILL_NODES = 768
"""Bounds the attention mask of a prefill; larger only makes its quadratic part dearer."""
_COMPACT_BELOW = 0.75
"""Share of rows still running below which copying the cache without the others pays."""

Model = Any  # transformers is not typed: a causal language model


@dataclass(slots=True, kw_only=True)
class Row:
    """One completion in the making."""

    prompt_ids: tuple[int, ...]
    temperature: float
    max_tokens: int
    seed: int
    ended: Callable[[Sequence[int]], bool]
    """Says of the tokens so far whether the last one ended the completion."""
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stopped: bool = False
    """The policy ended it; False when the token limit did."""

    @property
    def running(self) -> bool:
        """Whether another token is to be drawn."""
        return not self.stopped and len(self.token_ids) < self.max_tokens


@torch.no_grad()
def generate(model: Model, rows: Sequence[Row], checkpoint: Callable[[], None]) -> None:
    """Complete the rows in place.

    ``checkpoint`` is called before each forward pass and may raise to give up.
    Raises `FloatingPointError` when the model's logits are not finite.
    """
    live = [row for row in rows if row.running]
    if not live:
        return
    draws = {id(row): random.Random(row.seed) for row in live}
    state = _prefill(model, live, checkpoint)
    while True:
        tokens_B = _draw(state.logits_BV, live, [draws[id(row)].random() for row in live])
        keep = [i for i, row in enumerate(live) if row.running]
        if not keep:
            return
        if len(keep) < _COMPACT_BELOW * len(live):
            state.select(keep)
            live, tokens_B = [live[i] for i in keep], tokens_B[keep]
        checkpoint()
        state.step(model, tokens_B)


class _State:
    """The cache, which of its positions are real, and the logits of the next token."""

    def __init__(self, cache: DynamicCache, real_BL: torch.Tensor, logits_BV: torch.Tensor) -> None:
        self.cache = cache
        self.real_BL = real_BL
        self.logits_BV = logits_BV

    def select(self, keep: list[int]) -> None:
        index = torch.tensor(keep)
        self.cache.reorder_cache(index)
        self.real_BL = self.real_BL[index]

    def step(self, model: Model, tokens_B: torch.Tensor) -> None:
        positions_B = self.real_BL.sum(1)
        new = torch.ones(len(tokens_B), 1, dtype=torch.bool)
        self.real_BL = torch.cat([self.real_BL, new], dim=1)
        out = model(
            input_ids=tokens_B[:, None],
            position_ids=positions_B[:, None],
            attention_mask=self.real_BL[:, None, None, :],
            use_cache=True,
            **{_cache_argument(model): self.cache},
        )
        self.logits_BV = out.logits[:, -1]


def _prefill(model: Model, rows: Sequence[Row], checkpoint: Callable[[], None]) -> _State:
    """Run the distinct prompts, then hand every row its own copy of the cache."""
    prompts = list(dict.fromkeys(row.prompt_ids for row in rows))
    # Neighbours share the longest prefixes, and each run of `split_tree` computes its prefix anew.
    prompts.sort()
    length = max(map(len, prompts))
    parts: list[list[tuple[torch.Tensor, torch.Tensor]]] = []
    logits: list[torch.Tensor] = []
    for run in split_tree(prompts, _PREFILL_NODES):
        checkpoint()
        kv, last = _prefill_run(model, [prompts[i] for i in run], length)
        parts.append(kv)
        logits.append(last)
    place = {prompt: i for i, prompt in enumerate(prompts)}
    index_B = torch.tensor([place[row.prompt_ids] for row in rows])
    cache = DynamicCache()
    for layer in range(len(parts[0])):
        keys = torch.cat([part[layer][0] for part in parts])
        values = torch.cat([part[layer][1] for part in parts])
        cache.update(keys[index_B], values[index_B], layer)
    padding_U = torch.tensor([length - len(prompt) for prompt in prompts])
    real_UL = torch.arange(length)[None] >= padding_U[:, None]
    return _State(cache, real_UL[index_B], torch.cat(logits)[index_B])


def _prefill_run(
    model: Model, prompts: Sequence[Sequence[int]], length: int
) -> tuple[list[tuple[torch.Tensor, torch.Tensor]], torch.Tensor]:
    """Return keys and values of each layer, (U, heads, length, size), and the logits (U, V)."""
    tree = prefix_tree(prompts)
    cache = DynamicCache()
    out = model.base_model(
        input_ids=torch.from_numpy(tree.tokens_N)[None],
        position_ids=torch.from_numpy(tree.positions_N)[None],
        attention_mask=torch.from_numpy(tree.attention())[None, None],
        use_cache=True,
        **{_cache_argument(model): cache},
    )
    last_U = torch.tensor([path[-1] for path in tree.paths])
    logits_UV = model.get_output_embeddings()(out.last_hidden_state[0, last_U])
    # Padding points at node 0: finite, and never attended to.
    nodes_UL = torch.tensor([[0] * (length - len(path)) + list(path) for path in tree.paths])
    layers = [
        (layer.keys[0][:, nodes_UL].transpose(0, 1), layer.values[0][:, nodes_UL].transpose(0, 1))
        for layer in cache.layers
    ]
    return layers, logits_UV


def _cache_argument(model: Model) -> str:
    """Name the forward argument that takes a cache; transformers renamed it within version 5."""
    accepted = inspect.signature(model.base_model.forward).parameters
    return "cache" if "cache" in accepted else "past_key_values"


def _draw(logits_BV: torch.Tensor, rows: Sequence[Row], uniforms: Sequence[float]) -> torch.Tensor:
    """Draw a token for every running row and append it.

    Inverts the cumulative distribution at one uniform number a row, which costs one pass over the
    vocabulary where Gumbel noise would need a random number for every entry.
    """
    temperature_B = torch.tensor([row.temperature for row in rows])
    greedy_B = temperature_B <= 0
    scaled_BV = logits_BV.float() / torch.where(greedy_B, 1.0, temperature_B)[:, None]
    logprobs_BV = scaled_BV.log_softmax(-1)
    tokens_B = scaled_BV.argmax(-1)
    if not bool(greedy_B.all()):
        cumulative_BV = logprobs_BV.exp().cumsum(-1)
        target_B = torch.tensor(uniforms) * cumulative_BV[:, -1]
        drawn_B = torch.searchsorted(cumulative_BV, target_B[:, None], right=True)[:, 0]
        # Rounding may put the target on the total itself: then it is the last possible token.
        last_B = (cumulative_BV < cumulative_BV[:, -1:]).sum(-1)
        tokens_B = torch.where(greedy_B, tokens_B, torch.minimum(drawn_B, last_B))
    chosen_B = logprobs_BV.gather(-1, tokens_B[:, None])[:, 0]
    if not bool(chosen_B.isfinite().all()):
        raise FloatingPointError("the logits are not finite")
    chosen_B = torch.where(greedy_B, 0.0, chosen_B)
    for row, token, logprob in zip(rows, tokens_B.tolist(), chosen_B.tolist(), strict=True):
        if row.running:
            row.token_ids.append(token)
            row.logprobs.append(logprob)
            row.stopped = row.ended(row.token_ids)
    return tokens_B
