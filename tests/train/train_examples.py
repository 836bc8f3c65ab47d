"""Groups of a tiny model's real completions, for the tests of training.

``python tests/train/train_examples.py`` writes ``golden/ten_steps.json`` again; review its diff.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
import torch

from quintain.policy import LocalSampler, SampleRequest, tiny_model
from quintain.train import (
    GrpoConfig,
    Optimization,
    Trainer,
    demonstration,
    grpo_step,
    sft_step,
)
from quintain.types import (
    AnswerKind,
    AnswerSpec,
    Completion,
    Costs,
    Group,
    JudgeId,
    Outcome,
    Policy,
    Reward,
    Sampling,
    Split,
    StopReason,
    Submission,
    Task,
    Trajectory,
    Trial,
    TrialKey,
    Turn,
    Verdict,
)

GOLDEN = Path(__file__).parent / "golden" / "ten_steps.json"
TEXTS = [f"{op} s\n{code}\n" for op, code in (("reverse", "s[::-1]"), ("upper", "s.upper()"))] * 8
JUDGE = JudgeId(name="test", digest="0")


def make_model(seed: int = 0) -> tuple[Any, Any]:
    return tiny_model(TEXTS, seed=seed)


def make_task(prompt: str = "reverse s", split: Split = Split.TRAIN) -> Task:
    return Task(
        family="test",
        family_version="1",
        domain="test",
        level=1,
        split=split,
        problem=prompt,
        phrasing="plain",
        prompt=prompt,
        gold="s[::-1]",
        wrong=(),
        judge=AnswerSpec(kind=AnswerKind.EXACT, expected="s[::-1]"),
    )


def sample(sampler: LocalSampler, requests: Sequence[SampleRequest]) -> list[Completion]:
    async def run() -> list[Completion]:
        found: dict[int, Completion] = {}

        async def one(index: int) -> None:
            found[index] = await sampler.sample(requests[index])

        async with anyio.create_task_group() as group:
            for index in range(len(requests)):
                group.start_soon(one, index)
        return [found[index] for index in range(len(requests))]

    return anyio.run(run)


def make_trial(task: Task, completion: Completion, reward: float | None, number: int = 0) -> Trial:
    outcome = Outcome.INVALID if reward is None else Outcome.SCORED
    return Trial(
        key=TrialKey(phase="train", step=0, task_variant=task.variant, sample=number),
        task_id=task.id,
        family=task.family,
        level=task.level,
        split=task.split,
        policy=Policy(name="tiny", version="0"),
        seed=number,
        interface="bare",
        trajectory=Trajectory(
            turns=(Turn(prompt=task.prompt + "\n", completion=completion),), truncated=False
        ),
        submission=Submission(text=completion.text),
        verdict=Verdict(outcome=outcome, judge=JUDGE),
        reward=None if reward is None else Reward(value=reward, rule="test"),
        costs=Costs(),
    )


def make_group(
    sampler: LocalSampler,
    rewards: Sequence[float | None],
    *,
    task: Task | None = None,
    seed: int = 0,
    temperature: float = 1.0,
    max_tokens: int = 10,
) -> Group:
    task = task or make_task()
    drawn = Sampling(temperature=temperature, max_tokens=max_tokens)
    requests = [
        SampleRequest(prompt=task.prompt + "\n", sampling=drawn, seed=1000 * seed + i)
        for i in range(len(rewards))
    ]
    completions = sample(sampler, requests)
    numbered = enumerate(zip(completions, rewards, strict=True))
    return Group(task=task, trials_G=tuple(make_trial(task, c, r, i) for i, (c, r) in numbered))


def with_completion(trial: Trial, **changes: Any) -> Trial:
    """Replace fields of a trial's only completion."""
    turn = trial.trajectory.turns[0]
    completion = msgspec.structs.replace(turn.completion, **changes)
    turn = msgspec.structs.replace(turn, completion=completion)
    return msgspec.structs.replace(trial, trajectory=Trajectory(turns=(turn,), truncated=False))


def with_trial(group: Group, index: int, trial: Trial) -> Group:
    trials = list(group.trials_G)
    trials[index] = trial
    return Group(task=group.task, trials_G=tuple(trials))


def ten_steps() -> dict[str, list[float]]:
    """Take ten supervised and ten reinforcement steps on fixed tokens; return the figures."""
    torch.set_num_threads(1)
    optimization = Optimization(lr=1e-3, warmup_steps=2)
    pairs = (("reverse s\n", "s[::-1]\n"), ("upper s\n", "s.upper()\n"))
    model, tokenizer = make_model()
    examples = [demonstration(make_task(p), p, r, tokenizer) for p, r in pairs]
    trainer = Trainer(model)
    sft = [sft_step(trainer, examples, optimization) for _ in range(10)]
    group = written_group(tokenizer, ("s[::-1]\n", "s.upper()\n", "s\n"), (1.0, 0.0, 0.25))
    config = GrpoConfig(optimization=optimization, importance_cap=None)
    trainer = Trainer(model)
    grpo = [grpo_step(trainer, [group], config) for _ in range(10)]
    return {
        "sft_loss": [stats.loss for stats in sft],
        "grpo_grad_norm": [stats.grad_norm for stats in grpo],
        "grpo_entropy": [stats.entropy for stats in grpo],
    }


def written_group(tokenizer: Any, texts: Sequence[str], rewards: Sequence[float]) -> Group:
    """Make a group of given completions, without log-probabilities."""
    task = make_task()
    prompt_ids = tuple(tokenizer.encode(task.prompt + "\n"))
    trials = []
    for number, (text, reward) in enumerate(zip(texts, rewards, strict=True)):
        completion = Completion(
            text=text,
            stop=StopReason.STOP,
            prompt_token_ids=prompt_ids,
            token_ids_T=tuple(tokenizer.encode(text)),
        )
        trials.append(make_trial(task, completion, reward, number))
    return Group(task=task, trials_G=tuple(trials))


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_bytes(msgspec.json.format(msgspec.json.encode(ten_steps())) + b"\n")
