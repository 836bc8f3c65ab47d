from typing import Any

import msgspec
import pytest
import torch
from train_examples import make_model, make_task

from quintain.errors import UserError
from quintain.train import Example, Optimization, Trainer, demonstration, sft_step
from quintain.types import Split

CONFIG = Optimization(lr=1e-3, warmup_steps=2)
PAIRS = (("reverse s\n", "s[::-1]\n"), ("upper s\n", "s.upper()\n"))


def examples(tokenizer: Any) -> list[Example]:
    return [demonstration(make_task(p), p, r, tokenizer) for p, r in PAIRS]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def test_only_the_reply_is_learnt() -> None:
    _, tokenizer = make_model()
    (example, _) = examples(tokenizer)
    written = [t for t, mine in zip(example.token_ids_T, example.mask_T, strict=True) if mine]
    assert tokenizer.decode(written) == "s[::-1]\n"
    losses = []
    for tokens in (None, len(written)):
        model, _ = make_model()
        shown = example
        if tokens is None:  # the same tokens, everything masked in
            shown = msgspec.structs.replace(example, mask_T=(True,) * len(example.mask_T))
        stats = sft_step(Trainer(model), [shown], CONFIG)
        losses.append(stats.loss)
        assert stats.tokens == (tokens or len(example.token_ids_T) - 1)
    assert losses[0] != losses[1]


def test_passes_of_any_size_give_the_same_step() -> None:
    weights = []
    for max_nodes in (4, 1024):
        model, tokenizer = make_model()
        config = Optimization(lr=1e-3, max_nodes=max_nodes)
        sft_step(Trainer(model), examples(tokenizer), config)
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    # Adam's first step is the sign of the gradient, so a gradient at rounding level may flip it.
    agree = torch.isclose(weights[0], weights[1], atol=1e-5).float().mean()
    assert float(agree) > 0.99


def test_the_learning_rate_warms_up() -> None:
    model, tokenizer = make_model()
    trainer = Trainer(model)
    config = Optimization(lr=1e-3, warmup_steps=4)
    rates = [sft_step(trainer, examples(tokenizer), config).lr for _ in range(6)]
    assert rates == pytest.approx([0.25e-3, 0.5e-3, 0.75e-3, 1e-3, 1e-3, 1e-3])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mask_T": (False,) * 6}, "no token to learn"),
        ({"mask_T": (True,) + (False,) * 5}, "no token to learn"),
        ({"mask_T": (True,)}, "1 mask entries for 6 tokens"),
        ({"token_ids_T": (), "mask_T": ()}, "no token ids"),
        ({"token_ids_T": (1, 2, 3, 4, 5, 10**6)}, "outside the vocabulary"),
        ({"token_ids_T": (1, 2, 3, 4, 5, -1)}, "outside the vocabulary"),
        ({"split": Split.HELD_OUT}, "held_out"),
    ],
)
def test_an_example_that_cannot_be_learnt_from_is_refused_by_name(
    changes: dict[str, Any], message: str
) -> None:
    model, _ = make_model()
    good = Example(
        name="task 42", split=Split.TRAIN, token_ids_T=(1, 2, 3, 4, 5, 6), mask_T=(True,) * 6
    )
    before = [p.clone() for p in model.parameters()]
    with pytest.raises(UserError, match=f"task 42: .*{message}"):
        sft_step(Trainer(model), [good, msgspec.structs.replace(good, **changes)], CONFIG)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_weights_of_another_type_are_refused() -> None:
    model, _ = make_model()
    with pytest.raises(UserError, match="bfloat16"):
        Trainer(model.to(torch.bfloat16))


def test_a_gradient_that_is_not_finite_leaves_the_weights_alone() -> None:
    model, tokenizer = make_model()
    trainer = Trainer(model)
    with torch.no_grad():
        model.model.norm.weight[0] = float("inf")
    before = [p.clone() for p in model.parameters()]
    with pytest.raises(FloatingPointError, match="step 0"):
        sft_step(trainer, examples(tokenizer), CONFIG)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
