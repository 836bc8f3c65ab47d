"""One attempt at one task: sampled, then judged, each with bounded retries.

Invariant: an infrastructure fault never becomes a reward. A sampler that fails is asked again; a
judgement that fails is made again, in a fresh world, of the same completion. When retries are used
up the trial is invalid and says why.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import anyio

from quintain.codec import digest
from quintain.env import Episode, run_episode
from quintain.errors import BoundaryError
from quintain.interface import Interface
from quintain.judge import JudgeCache, Judged, judge_id, reward
from quintain.log import EventRecord, IsolationRecord, Log
from quintain.policy import Sampler
from quintain.sandbox import AuditRecord, Pool
from quintain.types import (
    Costs,
    JudgeId,
    Noun,
    Outcome,
    Policy,
    Submission,
    Task,
    Trajectory,
    Trial,
    TrialKey,
    Verdict,
)

__all__ = ["Attempt", "Judge", "Retry", "Sampled", "Tools", "judge_in", "judged_trial", "sampled"]

T = TypeVar("T")


class Judge(Protocol):
    """Judges a submission; also tells whether the verdict of an identical one was reused."""

    async def __call__(self, task: Task, submission: Submission) -> tuple[Judged, bool]:
        """Return the finding; a fault of the infrastructure is an invalid verdict."""
        ...


def judge_in(pool: Pool, cache: JudgeCache | None = None) -> Judge:
    """Return the judge that executes in ``pool`` and judges identical submissions once."""
    kept = JudgeCache() if cache is None else cache  # an empty cache is false

    async def judge(task: Task, submission: Submission) -> tuple[Judged, bool]:
        return await kept.judge(task, submission, pool)

    return judge


class Retry(Noun, frozen=True, kw_only=True):
    """How hard to try against infrastructure faults."""

    limit: int = 2
    """Retries of sampling, and of judging, after the first try."""
    timeout_s: float = 600.0
    """Longest wait for one completion or one verdict; past it the try is a fault. A guard against
    waiting for ever: the policy and the candidate have limits of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What all attempts of a rollout share."""

    sampler: Sampler
    judge: Judge
    log: Log
    temperature: float
    retry: Retry
    audit: Callable[[AuditRecord], None]
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time

    def fault(self, kind: str, key: TrialKey, reason: str) -> None:
        """Leave a trace of a fault, whether or not it is retried."""
        where = f"{key.phase} step {key.step} task {key.task_variant} sample {key.sample}"
        self.log.append(EventRecord(kind=kind, message=f"{where}: {reason}", at=self.now()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is to be tried."""

    key: TrialKey
    seed: int
    task: Task
    task_id: str
    interface: Interface
    interface_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """An attempt on its way from the sampler to the judge."""

    attempt: Attempt
    policy: Policy
    episode: Episode | None
    """None when the sampler failed for good."""
    retries: int
    reason: str
    """Why there is no episode; empty when there is one."""
    sampling_s: float


async def sampled(attempt: Attempt, tools: Tools) -> Sampled:
    """Run the episode of an attempt, asking again after sampler faults."""
    retries = 0
    while True:
        policy, began = tools.sampler.policy, tools.clock()
        episode, reason = await _try(
            run_episode(
                attempt.task,
                attempt.interface,
                tools.sampler,
                temperature=tools.temperature,
                seed=attempt.seed,
            ),
            tools.retry.timeout_s,
        )
        if episode is None:
            tools.fault("sampler_fault", attempt.key, reason)
        if episode is not None or retries == tools.retry.limit:
            return Sampled(
                attempt=attempt,
                policy=policy,
                episode=episode,
                retries=retries,
                reason=reason,
                sampling_s=tools.clock() - began,
            )
        retries += 1


async def judged_trial(work: Sampled, tools: Tools) -> tuple[Trial, IsolationRecord | None]:
    """Judge what was sampled, again after faults of the judge; return the finished trial."""
    if work.episode is None:
        nobody = JudgeId(name="none", digest="")
        verdict = Verdict(outcome=Outcome.INVALID, judge=nobody, evidence=work.reason)
        costs = Costs(sampling_s=work.sampling_s)
        return _trial(work, Judged(verdict=verdict), costs, work.retries, tools), None
    task, submission, retries = work.attempt.task, work.episode.submission, 0
    while True:
        began = tools.clock()
        found, reason = await _try(tools.judge(task, submission), tools.retry.timeout_s)
        judging_s = tools.clock() - began
        judged, cached = found or (_spoilt(task, reason), False)
        if not cached:  # else nothing was executed
            for record in judged.audit:
                tools.audit(record)
        spoilt = judged.verdict.outcome is Outcome.INVALID
        if spoilt:
            tools.fault("judge_fault", work.attempt.key, judged.verdict.evidence)
        if not spoilt or retries == tools.retry.limit:
            break
        retries += 1
    costs = _costs(work, judged, judging_s=judging_s, cached=cached)
    report = IsolationRecord(report=judged.isolation) if judged.isolation else None
    return _trial(work, judged, costs, work.retries + retries, tools), report


async def _try(call: Awaitable[T], timeout_s: float) -> tuple[T | None, str]:
    """Await a call across a boundary; return its result, or None and what went wrong."""
    with anyio.move_on_after(timeout_s):
        try:
            return await call, ""
        except BoundaryError as error:
            reason = f"{type(error).__name__}: {error.message}"
            return None, reason.encode(errors="backslashreplace").decode()[:500]
    return None, f"no answer within {timeout_s:g} s"


def _spoilt(task: Task, reason: str) -> Judged:
    verdict = Verdict(outcome=Outcome.INVALID, judge=judge_id(task.judge), evidence=reason)
    return Judged(verdict=verdict)


def _costs(work: Sampled, judged: Judged, *, judging_s: float, cached: bool) -> Costs:
    turns = work.episode.trajectory.turns if work.episode else ()
    return Costs(
        prompt_tokens=sum(len(turn.completion.prompt_token_ids) for turn in turns),
        sampled_tokens=sum(len(turn.completion.token_ids_T) for turn in turns),
        sampling_s=work.sampling_s,
        judging_s=judging_s,
        sandbox_cpu_s=0.0 if cached else judged.cpu_s,
        cached=cached,
    )


def _trial(work: Sampled, judged: Judged, costs: Costs, retries: int, tools: Tools) -> Trial:
    attempt, episode = work.attempt, work.episode
    return Trial(
        key=attempt.key,
        task_id=attempt.task_id,
        family=attempt.task.family,
        level=attempt.task.level,
        split=attempt.task.split,
        policy=work.policy,
        seed=attempt.seed,
        interface=attempt.interface_digest,
        trajectory=episode.trajectory if episode else Trajectory(turns=(), truncated=False),
        submission=episode.submission if episode else Submission(text=""),
        verdict=judged.verdict,
        reward=reward(judged.verdict, attempt.task.reward),
        costs=costs,
        isolation=digest(judged.isolation) if judged.isolation else "",
        attempts=1 + retries,
        finished_at=tools.now(),
    )
