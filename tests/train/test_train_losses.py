import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from quintain.train._losses import (
    clipped_loss,
    effective_share,
    importance_weights,
    k3_divergence,
    ratio,
    token_weights,
)
from quintain.train._types import Averaging


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values)


def test_the_surrogate_is_ppos_worked_example_with_two_bounds() -> None:
    rho = tensor(1.0, 1.5, 1.5, 0.5, 0.5)
    advantage = tensor(2.0, 1.0, -1.0, 1.0, -1.0)
    loss, clipped = clipped_loss(rho, advantage, 0.2, 0.28)
    assert loss.tolist() == pytest.approx([-2.0, -1.28, 1.5, -0.5, 0.8])
    assert clipped.tolist() == [False, True, False, False, True]


def test_clipped_tokens_have_no_gradient_and_the_others_do() -> None:
    rho = tensor(1.5, 1.1, 0.5, 0.9).requires_grad_()
    loss, clipped = clipped_loss(rho, tensor(1.0, 1.0, -1.0, -1.0), 0.2, 0.28)
    loss.sum().backward()  # type: ignore[no-untyped-call]
    assert rho.grad is not None
    assert [g == 0 for g in rho.grad.tolist()] == clipped.tolist() == [True, False, True, False]


def test_extreme_log_ratios_stay_finite_in_value_and_gradient() -> None:
    logprobs = tensor(0.0, -1e4, -50.0).requires_grad_()
    rho = ratio(logprobs, tensor(-1e4, 0.0, -0.1))
    assert rho.tolist() == pytest.approx([math.exp(20), math.exp(-20), math.exp(-20)])
    rho.sum().backward()  # type: ignore[no-untyped-call]
    assert logprobs.grad is not None
    assert bool(logprobs.grad.isfinite().all())


def test_importance_weights_are_capped_above_only_and_carry_no_gradient() -> None:
    trainer = tensor(-1.0, -1.0, -5.0).requires_grad_()
    weights = importance_weights(trainer, tensor(-1.0, -5.0, -1.0), 2.0)
    assert weights.tolist() == pytest.approx([1.0, 2.0, math.exp(-4)])
    assert not weights.requires_grad


@given(st.lists(st.floats(-30, 0), min_size=1, max_size=8), st.floats(-10, 10))
def test_the_divergence_estimate_is_never_negative_and_zero_at_home(
    logprobs: list[float], shift: float
) -> None:
    own = torch.tensor(logprobs, dtype=torch.float64)
    assert k3_divergence(own, own).tolist() == [0.0] * len(logprobs)
    assert bool((k3_divergence(own, own + shift) >= 0).all())


def test_the_divergence_estimate_is_unbiased() -> None:
    p, q = tensor(0.5, 0.3, 0.2).double(), tensor(0.2, 0.3, 0.5).double()
    expected = float((p * (p.log() - q.log())).sum())
    assert float((p * k3_divergence(p.log(), q.log())).sum()) == pytest.approx(expected)


def test_the_effective_share_runs_from_one_over_n_to_one() -> None:
    assert effective_share(tensor(0.5, 0.5, 0.5, 0.5)) == pytest.approx(1.0)
    assert effective_share(tensor(1.0, 0.0, 0.0, 0.0)) == pytest.approx(0.25)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=10), st.sampled_from(Averaging))
def test_token_weights_sum_to_one(lengths: list[int], averaging: Averaging) -> None:
    weights = token_weights(lengths, averaging)
    assert math.fsum(n * w for n, w in zip(lengths, weights, strict=True)) == pytest.approx(1.0)
    same = len(set(weights)) == 1
    assert same == (averaging is Averaging.TOKEN or len(set(lengths)) == 1)
