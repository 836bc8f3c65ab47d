"""Which tasks a run sees: pure functions of the config, the step and the curriculum's state.

Invariant: a draw depends on nothing else, so a resumed run draws the tasks that the interrupted one
drew. Demonstrations and training tasks come from the train split, the suite from the held-out one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quintain.curriculum import Curriculum, choose, start
from quintain.errors import TaskError
from quintain.ids import rng
from quintain.interface import Interface
from quintain.recipes._config import RunConfig
from quintain.tasks import FAMILIES, Family, stream
from quintain.types import Noun, Split, Task

__all__ = [
    "CODE",
    "MATHS",
    "Demonstration",
    "demonstrations",
    "first_state",
    "held_out",
    "probe",
    "training_tasks",
]

CODE, MATHS = FAMILIES

_PATIENCE = 20


class Demonstration(Noun, frozen=True, kw_only=True):
    """A prompt as the policy will see it, and the reply it should have given."""

    task: Task
    prompt: str
    reply: str


def first_state(config: RunConfig) -> Curriculum:
    """Return the curriculum before the first step."""
    shares = {CODE.name: config.code_share, MATHS.name: 1.0 - config.code_share}
    return start({family.name: _levels(config, family) for family in FAMILIES}, shares=shares)


def held_out(config: RunConfig) -> list[Task]:
    """Draw the held-out suite, spread evenly over each family's levels.

    Ordered by id, hence mixed: a suite that a budget cuts short is still a fair part of it.
    """
    tasks: list[Task] = []
    for family, count in ((CODE, config.held_out_code), (MATHS, config.held_out_maths)):
        levels = _levels(config, family)
        for level in range(1, levels + 1):
            part = count // levels + (level <= count % levels)
            tasks += stream(family, level, Split.HELD_OUT, config.seed, part)
    return sorted(tasks, key=lambda task: task.id)


def probe(config: RunConfig, suite: Sequence[Task]) -> list[Task]:
    """Pick the fixed part of the suite that is looked at during training: code tasks only."""
    code = [task for task in suite if task.family == CODE.name]
    wanted = min(config.probe_tasks, len(code))
    return [code[i * len(code) // wanted] for i in range(wanted)]


def demonstrations(
    config: RunConfig, step: int, interface: Callable[[Task], Interface]
) -> list[Demonstration]:
    """Draw the demonstrations of one SFT step; a share of them shows a known-wrong answer."""
    draw = rng("sft", config.seed, step)
    batch = []
    for _ in range(config.sft_batch):
        family: Family = CODE if draw.random() < config.code_share else MATHS
        level = draw.randint(1, _levels(config, family))
        task = family.generate(level, Split.TRAIN, draw.getrandbits(40), config.seed)
        wrong = task.wrong and draw.random() < config.sft_wrong_share
        answer = draw.choice(task.wrong).text if wrong else task.gold
        frame = interface(task)
        batch.append(
            Demonstration(task=task, prompt=frame.render(task.prompt), reply=frame.reply(answer))
        )
    return batch


def training_tasks(config: RunConfig, state: Curriculum, step: int) -> list[Task]:
    """Draw the tasks of one GRPO step: no two with the same prompt.

    Raises `TaskError` when the levels that the curriculum chose hold too few problems.
    """
    draw = rng("grpo", config.seed, step)
    families: dict[str, Family] = {family.name: family for family in FAMILIES}
    tasks: dict[str, Task] = {}
    for _ in range(_PATIENCE):
        for name, level in choose(draw, state, config.grpo_prompts - len(tasks)):
            task = families[name].generate(level, Split.TRAIN, draw.getrandbits(40), config.seed)
            tasks.setdefault(task.variant, task)
        if len(tasks) == config.grpo_prompts:
            return list(tasks.values())
    raise TaskError(
        f"step {step}: only {len(tasks)} of {config.grpo_prompts} different tasks found",
        hint="lower grpo_prompts",
    )


def _levels(config: RunConfig, family: Family) -> int:
    return min(config.levels, family.levels)
