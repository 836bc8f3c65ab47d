"""The engine: groups of attempts, sampled and judged at the same time, in bounded memory.

::

    tasks ─▶ budget ─▶ [attempts] ─▶ sampling workers ─▶ [sampled] ─▶ judging workers ─▶ log

Two bounded streams join two sets of workers, so a slow judge holds up the sampler and a slow
sampler holds up the tasks.
Invariant: every accepted attempt ends exactly once, as a scored, not applicable or invalid trial
that is in the log before anybody hears of it. When the caller cancels, or an error of ours stops
the rollout, attempts in flight leave no trial; those already logged are reused through ``done``.
Not guaranteed: any order in which groups finish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from quintain.errors import QuintainError, UserError
from quintain.ids import derive_seed
from quintain.interface import Interface
from quintain.log import EventRecord, InterfaceRecord, TaskRecord, TrialRecord
from quintain.rollout._attempt import Attempt, Sampled, Tools, judged_trial, sampled
from quintain.rollout._budget import Budget
from quintain.rollout._faults import FaultMonitor
from quintain.types import Group, Noun, Outcome, Task, Trial, TrialKey

__all__ = ["Capacity", "Engine", "Plan", "once_each"]


class Capacity(Noun, frozen=True, kw_only=True):
    """How much happens at once. Sampling and judging are limited separately."""

    sampling: int = 64
    """Completions awaited at once: what a batching sampler can put into one batch."""
    judging: int = 4
    """Verdicts awaited at once: more than the sandbox has slots only queues there."""


class Plan(Noun, frozen=True, kw_only=True):
    """Which attempts a rollout makes; with the tasks it decides every key and seed."""

    phase: str
    step: int
    samples: int
    """Attempts at each task: the size of a group."""
    seed: int
    """Of the run. Seeds of attempts are derived from it and their key, never from an order."""

    def attempt_seed(self, key: TrialKey) -> int:
        """Return the seed of one attempt."""
        return derive_seed(self.seed, key.phase, key.step, key.task_variant, key.sample)


@dataclass(slots=True, kw_only=True)
class _Open:
    """A group that is not finished."""

    task: Task
    trials: dict[int, Trial] = field(default_factory=dict)


@dataclass(kw_only=True)
class Engine:
    """One rollout; see `rollout` for what the fields mean."""

    plan: Plan
    tools: Tools
    capacity: Capacity
    interface: Callable[[Task], Interface]
    done: Mapping[TrialKey, Trial]
    budget: Budget
    faults: FaultMonitor
    on_trial: Callable[[Trial], None]
    on_group: Callable[[Group], None]
    _open: dict[str, _Open] = field(default_factory=dict)

    async def run(self, tasks: Iterable[Task]) -> None:
        """Attempt all tasks that the budget accepts."""
        todo_send, todo = anyio.create_memory_object_stream[Attempt](0)
        works_send, works = anyio.create_memory_object_stream[Sampled](self.capacity.sampling)
        with _single_error(), todo_send, todo, works_send, works:
            async with anyio.create_task_group() as group:
                for _ in range(self.capacity.sampling):
                    group.start_soon(self._sample, todo.clone(), works_send.clone())
                for _ in range(self.capacity.judging):
                    group.start_soon(self._judge, works.clone())
                # A stream ends when the last of its senders is closed; the workers hold clones.
                works_send.close()
                await self._feed(tasks, todo_send)
                todo_send.close()

    async def _feed(self, tasks: Iterable[Task], todo: MemoryObjectSendStream[Attempt]) -> None:
        for task in once_each(tasks):
            wanted = self._accept(task)
            if wanted is None:
                now, reason = self.tools.now(), self.budget.stopped
                self.tools.log.append(EventRecord(kind="budget", message=reason, at=now))
                return
            for attempt in wanted:
                await todo.send(attempt)

    def _accept(self, task: Task) -> list[Attempt] | None:
        """Open a group and return its missing attempts; None when the budget is used up."""
        open_group, missing = _Open(task=task), []
        variant, task_id, interface = task.variant, task.id, self.interface(task)
        digest = interface.digest
        for sample in range(self.plan.samples):
            key = TrialKey(
                phase=self.plan.phase, step=self.plan.step, task_variant=variant, sample=sample
            )
            attempt = Attempt(
                key=key,
                seed=self.plan.attempt_seed(key),
                task=task,
                task_id=task_id,
                interface=interface,
                interface_digest=digest,
            )
            if (trial := self.done.get(key)) is not None:
                open_group.trials[sample] = _checked(trial, attempt)
            else:
                missing.append(attempt)
        if missing and not self.budget.accept(len(missing)):
            return None
        self._open[variant] = open_group
        if missing:
            self.tools.log.append(TaskRecord(task=task))
            self.tools.log.append(InterfaceRecord(interface=interface))
        else:
            self._close(variant)
        return missing

    async def _sample(
        self, todo: MemoryObjectReceiveStream[Attempt], works: MemoryObjectSendStream[Sampled]
    ) -> None:
        with todo, works:
            async for attempt in todo:
                await works.send(await sampled(attempt, self.tools))

    async def _judge(self, works: MemoryObjectReceiveStream[Sampled]) -> None:
        with works:
            async for work in works:
                trial, isolation = await judged_trial(work, self.tools)
                if isolation is not None:
                    self.tools.log.append(isolation)
                self.tools.log.append(TrialRecord(trial=trial))
                self._finish(trial)

    def _finish(self, trial: Trial) -> None:
        """Tell about an acknowledged trial; nothing is awaited between the log and here."""
        variant = trial.key.task_variant
        trials = self._open[variant].trials
        assert trial.key.sample not in trials, f"attempt {trial.key} ended twice"  # noqa: S101
        trials[trial.key.sample] = trial
        self.on_trial(trial)
        if len(trials) == self.plan.samples:
            self._close(variant)
        invalid = trial.verdict.outcome is Outcome.INVALID
        self.faults.count(trial.verdict.evidence if invalid else None)

    def _close(self, variant: str) -> None:
        done = self._open.pop(variant)
        trials_G = tuple(done.trials[sample] for sample in range(self.plan.samples))  # noqa: N806
        self.on_group(Group(task=done.task, trials_G=trials_G))


def once_each(tasks: Iterable[Task]) -> Iterator[Task]:
    """Yield the tasks; raises `UserError` for a second one that the policy cannot tell apart."""
    seen: set[str] = set()
    for task in tasks:
        variant = task.variant
        if variant in seen:
            raise UserError(
                f"rollout: the task {task.problem!r} of family {task.family} (variant {variant}) "
                "comes twice, so its trials would share their keys",
                hint="draw tasks without repetition, or ask for more samples of one",
            )
        seen.add(variant)
        yield task


def _checked(trial: Trial, attempt: Attempt) -> Trial:
    """Return a trial on record; raises `UserError` unless it is this attempt's."""
    for name, found, wanted in (
        ("problem", trial.task_id, attempt.task_id),
        ("interface", trial.interface, attempt.interface_digest),
        ("seed", trial.seed, attempt.seed),
    ):
        if found != wanted:
            raise UserError(
                f"resume: the trial on record for {trial.key} has {name} {found}, "
                f"this run has {wanted}",
                hint="resume with the config and version that the run was begun with",
            )
    return trial


@contextmanager
def _single_error() -> Iterator[None]:
    """Raise the error itself when one worker failed, not a group around it."""
    try:
        yield
    except BaseExceptionGroup as group:
        leaves = list(_leaves(group))
        known = [leaf for leaf in leaves if isinstance(leaf, QuintainError)]
        if len(leaves) == 1 or len(known) == len(leaves):
            raise leaves[0] from leaves[0].__cause__
        raise


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
