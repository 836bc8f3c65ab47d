"""Attempt tasks and gather the trials in groups.

Invariant: which trials are made, and the order of what comes back, depends on the tasks and the
arguments, not on the order in which attempts happened to finish. Groups are complete; a task that
the budget refused has no group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from quintain.errors import UserError
from quintain.interface import Interface
from quintain.log import Log
from quintain.policy import Sampler
from quintain.rollout._attempt import Judge, Retry, Tools
from quintain.rollout._budget import Budget
from quintain.rollout._engine import Capacity, Engine, Plan, once_each
from quintain.rollout._faults import FaultMonitor
from quintain.sandbox import AuditRecord
from quintain.types import Group, Task, Trial, TrialKey

__all__ = ["rollout"]

DEFAULT_CAPACITY = Capacity()
DEFAULT_RETRY = Retry()


async def rollout(
    tasks: Iterable[Task],
    *,
    sampler: Sampler,
    interface: Interface | Callable[[Task], Interface],
    judge: Judge,
    log: Log,
    audit: Callable[[AuditRecord], None] | None = None,
    seed: int,
    phase: str,
    step: int = 0,
    samples: int,
    temperature: float = 1.0,
    done: Mapping[TrialKey, Trial] | None = None,
    budget: Budget | None = None,
    capacity: Capacity = DEFAULT_CAPACITY,
    retry: Retry = DEFAULT_RETRY,
    faults: FaultMonitor | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    on_group: Callable[[Group], None] | None = None,
) -> list[Group]:
    """Attempt every task ``samples`` times and return complete groups in the order of the tasks.

    ::

        async with open_pool() as pool:
            groups = await rollout(
                tasks, sampler=sampler, interface=CODE, judge=judge_in(pool), log=log,
                seed=0, phase="train", step=1, samples=16,
            )

    - ``seed`` is the run's; those of attempts are derived from it and from their `TrialKey`.
    - ``audit`` takes a record of every execution, before the trial that it was for is logged;
      a verdict that is reused executes nothing.
    - ``done`` holds trials already acknowledged: they are part of their groups, not attempted or
      logged again, and not reported to ``on_trial``.
    - ``budget`` is asked before each task is begun; at the first refusal no further task is begun,
      what was begun is finished, and ``budget.stopped`` says why the list is short.
    - ``on_trial`` hears of each trial once it is in the log. ``on_group`` takes each complete group
      as it comes; then none is kept, the list is empty, and ``tasks`` may be endless.
    - Invalid trials are in their groups, without a reward.

    Raises `UserError` for a task given twice, a trial in ``done`` of another problem, interface or
    seed, or numbers out of range; `LogError` when the log cannot be written; `BoundaryError` when
    more trials are invalid than ``faults`` tolerates (a fifth, of at least 32, unless given).
    Other errors are bugs and stop the rollout.
    """
    _refuse_nonsense(samples, capacity, retry)
    gathered: dict[str, Group] = {}
    if on_group is None:
        tasks = list(once_each(tasks))  # repeated tasks are refused before anything is sampled
    engine = Engine(
        plan=Plan(phase=phase, step=step, samples=samples, seed=seed),
        tools=Tools(
            sampler=sampler,
            judge=judge,
            log=log,
            audit=audit or (lambda _: None),
            temperature=temperature,
            retry=retry,
        ),
        capacity=capacity,
        interface=(lambda _: interface) if isinstance(interface, Interface) else interface,
        done={} if done is None else done,
        budget=budget or Budget(),
        faults=faults or FaultMonitor(),
        on_trial=on_trial or (lambda _: None),
        on_group=on_group or (lambda group: gathered.update({group.task.variant: group})),
    )
    await engine.run(tasks)
    if on_group is not None:
        return []
    return [gathered[task.variant] for task in tasks if task.variant in gathered]


def _refuse_nonsense(samples: int, capacity: Capacity, retry: Retry) -> None:
    for name, value, least in (
        ("samples", samples, 1),
        ("capacity.sampling", capacity.sampling, 1),
        ("capacity.judging", capacity.judging, 1),
        ("retry.limit", retry.limit, 0),
    ):
        if value < least:
            raise UserError(f"rollout: {name} is {value}, must be at least {least}")
    if not retry.timeout_s > 0:  # NaN is refused too
        raise UserError(f"rollout: retry.timeout_s is {retry.timeout_s}, must be above 0")
