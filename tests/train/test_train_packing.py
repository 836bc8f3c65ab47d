from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from train_examples import make_model

from quintain.policy import prefix_tree, split_tree
from quintain.train._packing import pack, score

SEQUENCES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=10)


@pytest.fixture(scope="module")
def model() -> Any:
    torch.set_num_threads(1)
    return make_model()[0]


def plain(model: Any, ids: list[int], mask: list[bool]) -> list[float]:
    logits = model(torch.tensor([ids])).logits[0]
    found = logits.log_softmax(-1)[:-1].gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]
    return [float(v) for v, asked in zip(found.tolist(), mask[1:], strict=True) if asked]


@given(sequences=SEQUENCES)
def test_a_tree_spells_out_its_sequences_and_attends_to_nothing_else(
    sequences: list[list[int]],
) -> None:
    tree = prefix_tree(sequences)
    attention = tree.attention()
    for sequence, path in zip(sequences, tree.paths, strict=True):
        assert tree.tokens_N[list(path)].tolist() == sequence
        assert tree.positions_N[list(path)].tolist() == list(range(len(sequence)))
        for depth, node in enumerate(path):
            assert np.flatnonzero(attention[node]).tolist() == sorted(path[: depth + 1])
    prefixes = {tuple(s[:n]) for s in sequences for n in range(1, len(s) + 1)}
    assert len(tree.tokens_N) == len(prefixes)


@given(sequences=SEQUENCES, limit=st.integers(1, 20))
def test_splitting_keeps_order_loses_nothing_and_respects_the_limit(
    sequences: list[list[int]], limit: int
) -> None:
    runs = split_tree(sequences, limit)
    assert [i for run in runs for i in run] == list(range(len(sequences)))
    for run in runs:
        nodes = len(prefix_tree([sequences[i] for i in run]).tokens_N)
        assert nodes <= limit or len(run) == 1


@settings(max_examples=25, deadline=None)
@given(
    data=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=12),
        min_size=1,
        max_size=8,
    ),
    limit=st.sampled_from([4, 16, 1024]),
)
def test_packed_logprobs_equal_those_of_each_sequence_alone(
    model: Any, data: list[list[tuple[int, bool]]], limit: int
) -> None:
    sequences = [[7, 7, 9] + [token for token, _ in one] for one in data]
    masks = [[False] * 3 + [asked for _, asked in one] for one in data]
    with torch.no_grad():
        expected = [v for s, m in zip(sequences, masks, strict=True) for v in plain(model, s, m)]
        runs = pack(sequences, masks, limit)
        found = [v for run in runs for v in score(model, run).logprobs_T.tolist()]
    assert found == pytest.approx(expected, abs=1e-5)


def test_packed_gradients_equal_those_of_each_sequence_alone(model: Any) -> None:
    sequences = [[1, 2, 3, 4], [1, 2, 3, 5, 6], [1, 2, 8], [1, 2, 3, 4]]
    masks = [[False, False] + [True] * (len(s) - 2) for s in sequences]

    def gradient(limit: int) -> torch.Tensor:
        model.zero_grad()
        for run in pack(sequences, masks, limit):
            score(model, run).logprobs_T.sum().backward()  # type: ignore[no-untyped-call]
        return torch.cat([p.grad.flatten() for p in model.parameters()])

    one_each = torch.zeros(())
    for sequence, mask in zip(sequences, masks, strict=True):
        model.zero_grad()
        (packed,) = pack([sequence], [mask], 64)
        score(model, packed).logprobs_T.sum().backward()  # type: ignore[no-untyped-call]
        one_each = one_each + torch.cat([p.grad.flatten() for p in model.parameters()])
    torch.testing.assert_close(gradient(1024), one_each, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(gradient(5), one_each, atol=1e-4, rtol=1e-4)


def test_entropy_is_that_of_the_next_tokens_distribution(model: Any) -> None:
    (packed,) = pack([[1, 2, 3]], [[False, False, True]], 64)
    with torch.no_grad():
        logprobs = model(torch.tensor([[1, 2]])).logits[0, -1].log_softmax(-1)
        found = score(model, packed).entropies_T
    assert found.tolist() == pytest.approx([float(-(logprobs.exp() * logprobs).sum())], abs=1e-5)
