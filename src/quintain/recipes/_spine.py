"""A post-training run from top to bottom: measure, SFT, GRPO, measure again.

Invariants: what is trained on comes from the train split and what is measured from the held-out
one; a resumed life draws the same tasks and reuses every trial on record; training stops early
enough for the final evaluation to fit into the budgets.
Not guaranteed: bit-equal weights between two runs of one seed (docs/reproducibility.md).
"""

from __future__ import annotations

import time

import anyio
import msgspec

from quintain.curriculum import update
from quintain.recipes._config import RunConfig
from quintain.recipes._draws import demonstrations, held_out, probe, training_tasks
from quintain.recipes._learner import Learner, Position
from quintain.recipes._measure import look
from quintain.recipes._session import Session
from quintain.types import Task

__all__ = ["post_train"]


async def post_train(
    config: RunConfig, session: Session, learner: Learner, at: Position
) -> Position:
    """Run, or finish, a whole run; return where training ended.

    The base policy is measured while the weights are still its own: a life that begins after a
    checkpoint finds that measurement on record.
    """
    suite = held_out(config)
    few = probe(config, suite)
    learner.publish(at.version)
    if at.version == "base":
        began = time.monotonic()
        limit = None if session.max_seconds is None else 0.35 * session.max_seconds
        half = None if session.max_trials is None else session.max_trials // 2
        await look(
            session, suite, phase="eval/before", samples=config.held_out_samples,
            temperature=config.temperature, seconds=limit, max_trials=half,
        )  # fmt: skip
        session.final_s = time.monotonic() - began
    at = await _sft(config, session, learner, at)
    if at.grpo_steps == 0 and not session.stopped:
        learner.publish(at.version)
        learner.begin_grpo()
        await _probe(config, session, few, at)
    at = await _grpo(config, session, learner, at, few)
    limit = None
    if session.max_seconds is not None:
        limit = max(session.max_seconds - session.watch.elapsed_s, 0.15 * session.max_seconds)
    if session.stopped:
        learner.save(at)  # so that a larger budget can go on from here
    learner.publish(at.version)
    await look(
        session, suite, phase="eval/after", step=at.steps, samples=config.held_out_samples,
        temperature=config.temperature, seconds=limit,
    )  # fmt: skip
    return at


async def _sft(config: RunConfig, session: Session, learner: Learner, at: Position) -> Position:
    """Imitate demonstrations until the config or a budget says stop."""
    if at.grpo_steps or at.sft_steps >= config.sft_steps:
        return at
    session.progress.phase("sft")
    slowest_s = 0.0
    while at.sft_steps < config.sft_steps:
        if not session.affords(trials=session.final_trials, seconds=slowest_s + session.final_s):
            break
        began = time.monotonic()
        batch = demonstrations(config, at.sft_steps, session.interface)
        with session.watch.part("training"):
            values = await anyio.to_thread.run_sync(learner.sft_step, batch)
        session.event("demonstrations", " ".join(sorted({d.task.id for d in batch})))
        at = msgspec.structs.replace(at, sft_steps=at.sft_steps + 1)
        session.metric("sft", at.sft_steps, values)
        session.progress.step(at.sft_steps, config.sft_steps)
        slowest_s = max(slowest_s, time.monotonic() - began)
        if at.sft_steps % config.checkpoint_every == 0 or at.sft_steps == config.sft_steps:
            learner.save(at)
    return at


async def _grpo(
    config: RunConfig, session: Session, learner: Learner, at: Position, few: list[Task]
) -> Position:
    """Reinforce what passed until the config or a budget says stop."""
    slowest_s = 0.0
    while at.grpo_steps < config.grpo_steps:
        due = (at.grpo_steps + 1) % config.probe_every == 0
        trials = config.grpo_prompts * config.grpo_samples
        trials += len(few) * config.held_out_samples if due else 0
        if not session.affords(
            trials=trials + session.final_trials, seconds=slowest_s + session.final_s
        ):
            break
        began = time.monotonic()
        at = await _grpo_step(config, session, learner, at)
        if at.grpo_steps % config.checkpoint_every == 0 or at.grpo_steps == config.grpo_steps:
            learner.save(at)
        if due:
            await _probe(config, session, few, at)
        slowest_s = max(slowest_s, time.monotonic() - began)
    return at


async def _grpo_step(
    config: RunConfig, session: Session, learner: Learner, at: Position
) -> Position:
    step = at.grpo_steps + 1
    session.progress.phase("grpo", trials=config.grpo_prompts * config.grpo_samples)
    tasks = training_tasks(config, at.curriculum, step)
    began = time.monotonic()
    groups = await session.rollout(
        tasks, phase="train", step=step, samples=config.grpo_samples,
        temperature=config.temperature,
    )  # fmt: skip
    sampled_s = time.monotonic() - began
    session.spent_sampling(groups, sampled_s)
    with session.watch.part("training"):
        values = await anyio.to_thread.run_sync(learner.grpo_step, groups)
    curriculum, scored, solved, reward = at.curriculum, 0, 0, 0.0
    for group in groups:
        rewards = [t.reward.value for t in group.trials_G if t.reward is not None]
        passed = sum(value == 1 for value in rewards)
        curriculum = update(
            curriculum, group.task.family, group.task.level, solved=passed, total=len(rewards)
        )
        scored, solved, reward = scored + len(rewards), solved + passed, reward + sum(rewards)
    total = sum(len(group.trials_G) for group in groups)
    values |= {"invalid": 1 - scored / total, "seconds": time.monotonic() - began}
    if scored:
        values |= {"reward": reward / scored, "solved": solved / scored}
    session.metric("grpo", step, values)
    session.progress.step(step, config.grpo_steps, values.get("reward"))
    at = msgspec.structs.replace(at, grpo_steps=step, curriculum=curriculum)
    learner.publish(at.version)
    return at


async def _probe(config: RunConfig, session: Session, few: list[Task], at: Position) -> None:
    """Look at a fixed part of the held-out suite, for the curve."""
    await look(
        session, few, phase="eval/probe", step=at.grpo_steps, samples=config.held_out_samples,
        temperature=config.temperature, greedy=False,
    )  # fmt: skip
