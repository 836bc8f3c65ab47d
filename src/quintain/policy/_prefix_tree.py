"""Pack token sequences into a prefix tree, so that a shared prefix is computed once.

The answers to one task share their prompt, and all prompts of a family share their worked examples.
A transformer's activations at a token depend on that token's prefix alone, so tokens with the same
prefix are one node: forward and backward passes over the nodes, each attending to its ancestors and
itself, give every sequence the same log-probabilities and gradients as on its own (up to rounding).

Pure; no torch. Memory for the attention mask is quadratic in the number of nodes, so `split_tree`
bounds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["PrefixTree", "prefix_tree", "split_tree"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixTree:
    """Sequences as paths from a root; N nodes, a parent always before its children."""

    tokens_N: npt.NDArray[np.int64]  # noqa: N815
    positions_N: npt.NDArray[np.int64]  # noqa: N815
    """Depth in the tree: the position the token has in its own sequence."""
    parents_N: npt.NDArray[np.int64]  # noqa: N815
    """-1 for a root."""
    paths: tuple[tuple[int, ...], ...]
    """For each sequence, the nodes of its tokens."""

    def attention(self) -> npt.NDArray[np.bool_]:
        """Return the (N, N) mask: row i is True at i and at i's ancestors."""
        count = len(self.tokens_N)
        mask = np.zeros((count, count), dtype=np.bool_)
        for node, parent in enumerate(self.parents_N):
            if parent >= 0:
                mask[node] = mask[parent]
            mask[node, node] = True
        return mask


def prefix_tree(sequences: Sequence[Sequence[int]]) -> PrefixTree:
    """Merge the sequences' common prefixes."""
    children: dict[tuple[int, int], int] = {}
    tokens: list[int] = []
    positions: list[int] = []
    parents: list[int] = []
    paths: list[tuple[int, ...]] = []
    for sequence in sequences:
        node, path = -1, []
        for position, token in enumerate(sequence):
            known = children.get((node, token))
            if known is None:
                known = children[node, token] = len(tokens)
                tokens.append(token)
                positions.append(position)
                parents.append(node)
            node = known
            path.append(node)
        paths.append(tuple(path))
    return PrefixTree(
        tokens_N=np.array(tokens, dtype=np.int64),
        positions_N=np.array(positions, dtype=np.int64),
        parents_N=np.array(parents, dtype=np.int64),
        paths=tuple(paths),
    )


def split_tree(sequences: Sequence[Sequence[int]], max_nodes: int) -> list[list[int]]:
    """Cut the sequences, in order, into runs whose trees have at most ``max_nodes`` nodes.

    Returns lists of indices into ``sequences``. A sequence longer than the limit is a run of its
    own. Put sequences that share prefixes next to each other.
    """
    runs: list[list[int]] = []
    seen: set[tuple[int, int]] = set()
    ids: dict[tuple[int, int], int] = {}
    for index, sequence in enumerate(sequences):
        edges, node = [], -1
        for token in sequence:
            edge = (node, token)
            node = ids.setdefault(edge, len(ids))
            edges.append(edge)
        fresh = sum(edge not in seen for edge in edges)
        if not runs or len(seen) + fresh > max_nodes:
            runs.append([])
            seen = set()
        runs[-1].append(index)
        seen.update(edges)
    return runs
