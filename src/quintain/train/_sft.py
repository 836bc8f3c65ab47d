"""Supervised fine-tuning: raise the probability of demonstrated replies.

Invariant: loss falls on masked-in tokens alone, and only on tasks of the train split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quintain.errors import UserError
from quintain.train._checks import check_split, check_tokens
from quintain.train._packing import pack, score
from quintain.train._trainer import Trainer
from quintain.train._types import Example, Optimization, SftStats
from quintain.types import Task

__all__ = ["demonstration", "sft_step"]


def demonstration(task: Task, prompt: str, reply: str, tokenizer: Any) -> Example:
    """Encode a framed prompt and the reply to it; the reply, stop text included, is masked in.

    The two are encoded apart, because that is how a sampler meets them.
    """
    prompt_ids = tuple(tokenizer.encode(prompt))
    reply_ids = tuple(tokenizer.encode(reply, add_special_tokens=False))
    return Example(
        name=f"task {task.id}",
        split=task.split,
        token_ids_T=prompt_ids + reply_ids,
        mask_T=(False,) * len(prompt_ids) + (True,) * len(reply_ids),
    )


def sft_step(trainer: Trainer, examples: Sequence[Example], optimization: Optimization) -> SftStats:
    """Take one step on the mean loss over all masked-in tokens.

    Raises `UserError` for a task that is not of the train split, for token ids the model does not
    know, and for an example that masks every token out.
    """
    if not examples:
        raise UserError("no examples to train on")
    for example in examples:
        _check(example, trainer.vocabulary)
    ordered = sorted(examples, key=lambda example: example.token_ids_T)  # neighbours share prefixes
    runs = pack(
        [example.token_ids_T for example in ordered],
        [example.mask_T for example in ordered],
        optimization.max_nodes,
    )
    tokens = sum(len(run.targets_T) for run in runs)
    loss = 0.0
    for run in runs:
        part = -score(trainer.model, run, bf16=trainer.bf16).logprobs_T.sum() / tokens
        part.backward()  # type: ignore[no-untyped-call]  # torch does not type it
        loss += part.item()
    norm, lr = trainer.update(optimization)
    trainer.step += 1
    nodes = sum(len(run.tokens_N) for run in runs)
    return SftStats(loss=loss, tokens=tokens, nodes=nodes, grad_norm=norm, lr=lr)


def _check(example: Example, vocabulary: int) -> None:
    check_split(example.name, example.split)
    check_tokens(example.name, example.token_ids_T, vocabulary)
    if len(example.mask_T) != len(example.token_ids_T):
        raise UserError(
            f"{example.name}: {len(example.mask_T)} mask entries "
            f"for {len(example.token_ids_T)} tokens"
        )
    if not any(example.mask_T[1:]):
        raise UserError(
            f"{example.name}: the mask leaves no token to learn",
            hint="mask in the reply; a sequence's first token cannot be learnt",
        )
