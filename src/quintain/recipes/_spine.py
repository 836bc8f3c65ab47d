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
from quintain.recipes._draws import demonstrations, training_tasks
from quintain.recipes._learner import Learner, Position
from quintain.recipes._measuring import Measuring
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
    plan = Measuring(config, session)
    learner.publish(at.version)
    if at.version == "base":
        await plan.before()
    at = await _sft(config, session, learner, at, plan)
    if at.grpo_steps == 0 and not session.stopped:
        learner.publish(at.version)
        learner.begin_grpo()
        await plan.probe(at.grpo_steps)
    at = await _grpo(config, session, learner, at, plan)
    if session.stopped:
        learner.save(at)  # so that a larger budget can go on from here
    learner.publish(at.version)
    await plan.after(at.steps)
    session.metric("end", at.steps, {"sft": at.sft_steps, "grpo": at.grpo_steps})
    return at


async def _sft(
    config: RunConfig, session: Session, learner: Learner, at: Position, plan: Measuring
) -> Position:
    """Imitate demonstrations until the config or a budget says stop."""
    if at.grpo_steps or at.sft_steps >= config.sft_steps:
        return at
    session.progress.phase("sft")
    slowest_s = 0.0
    while at.sft_steps < config.sft_steps:
        final = plan.final_trials(at.steps + 1)
        if not session.affords(trials=final, seconds=slowest_s + session.final_s):
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
    config: RunConfig, session: Session, learner: Learner, at: Position, plan: Measuring
) -> Position:
    """Reinforce what passed until the config or a budget says stop."""
    slowest_s = 0.0
    while at.grpo_steps < config.grpo_steps:
        step = at.grpo_steps + 1
        tasks = training_tasks(config, at.curriculum, step)
        due = step % config.probe_every == 0
        trials = session.missing(tasks, phase="train", step=step, samples=config.grpo_samples)
        trials += plan.probe_trials(step) if due else 0
        trials += plan.final_trials(at.steps + 1)
        if not session.affords(trials=trials, seconds=slowest_s + session.final_s):
            break
        began = time.monotonic()
        at = await _grpo_step(config, session, learner, at, tasks)
        if due:
            await plan.probe(step)
        if step % config.checkpoint_every == 0 or step == config.grpo_steps:
            learner.save(at)
        slowest_s = max(slowest_s, time.monotonic() - began)
    return at


async def _grpo_step(
    config: RunConfig, session: Session, learner: Learner, at: Position, tasks: list[Task]
) -> Position:
    step = at.grpo_steps + 1
    session.progress.phase("grpo", trials=config.grpo_prompts * config.grpo_samples)
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
