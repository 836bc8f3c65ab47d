"""Log-probabilities of many sequences from one forward pass over their prefix tree.

Invariant: each value is the one that the sequence would get on its own, up to rounding.
Only the positions asked for go through the output layer, which for a small model with a large
vocabulary is most of the work.
Axes: N nodes, S nodes whose next token is asked for, T tokens asked for, V vocabulary.
"""

# ruff: noqa: N806, N815 (axis suffixes)
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from quintain.policy import prefix_tree, split_tree

__all__ = ["Packed", "Scored", "pack", "score"]

Model = Any  # transformers is not typed: a causal language model


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Sequences ready for one pass."""

    members: tuple[int, ...]
    """Indices of the sequences within what was packed."""
    tokens_N: torch.Tensor
    positions_N: torch.Tensor
    attention_NN: torch.Tensor
    sources_S: torch.Tensor
    """Nodes whose next token is asked for, each once."""
    source_T: torch.Tensor
    """For each token asked for, the index into ``sources_S`` of the node before it."""
    targets_T: torch.Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What a model says of the tokens asked for, member by member."""

    logprobs_T: torch.Tensor
    entropies_T: torch.Tensor
    """Of the distribution each token was drawn from; without gradient."""


def pack(
    sequences: Sequence[Sequence[int]], masks: Sequence[Sequence[bool]], max_nodes: int
) -> list[Packed]:
    """Pack sequences, in order, into passes of at most ``max_nodes`` nodes.

    ``masks`` say which tokens are asked for. A sequence's first token has nothing before it and is
    never scored, whatever its mask says.
    """
    return [_pack_run(sequences, masks, run) for run in split_tree(sequences, max_nodes)]


def _pack_run(
    sequences: Sequence[Sequence[int]], masks: Sequence[Sequence[bool]], run: Sequence[int]
) -> Packed:
    tree = prefix_tree([sequences[i] for i in run])
    sources: dict[int, int] = {}
    source_T: list[int] = []
    targets_T: list[int] = []
    for index, path in zip(run, tree.paths, strict=True):
        for t in range(1, len(path)):
            if masks[index][t]:
                source_T.append(sources.setdefault(path[t - 1], len(sources)))
                targets_T.append(sequences[index][t])
    return Packed(
        members=tuple(run),
        tokens_N=torch.from_numpy(tree.tokens_N),
        positions_N=torch.from_numpy(tree.positions_N),
        attention_NN=torch.from_numpy(tree.attention()),
        sources_S=torch.tensor(list(sources), dtype=torch.long),
        source_T=torch.tensor(source_T, dtype=torch.long),
        targets_T=torch.tensor(targets_T, dtype=torch.long),
    )


def score(model: Model, packed: Packed, *, temperature: float = 1.0, bf16: bool = False) -> Scored:
    """Run the model over the tree; the log-probabilities carry gradients when enabled."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        hidden_NH = model.base_model(
            input_ids=packed.tokens_N[None],
            position_ids=packed.positions_N[None],
            attention_mask=packed.attention_NN[None, None],
            use_cache=False,
        ).last_hidden_state[0]
        logits_SV = model.get_output_embeddings()(hidden_NH[packed.sources_S])
    logprobs_SV = (logits_SV.float() / temperature).log_softmax(-1)
    with torch.no_grad():
        entropies_S = -(logprobs_SV.exp() * logprobs_SV).sum(-1)
    return Scored(
        logprobs_T=logprobs_SV[packed.source_T, packed.targets_T],
        entropies_T=entropies_S[packed.source_T],
    )
