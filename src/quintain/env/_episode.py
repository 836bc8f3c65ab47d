"""One life of one environment: a policy and a task, through an interface.

Invariant: the trajectory holds what the policy was shown and what it wrote, unchanged; truncated
means that a limit ended the episode, not the policy. An episode judges nothing: a truncated one
hands in whatever the parser finds.
Not guaranteed: more than one turn. An `Interface` has no tools yet, so a reply ends the episode.
"""

from __future__ import annotations

import math

from quintain.errors import PolicyError
from quintain.interface import Interface
from quintain.policy import Sampler, SampleRequest
from quintain.types import Completion, Noun, StopReason, Submission, Task, Trajectory, Turn

__all__ = ["Episode", "run_episode"]


class Episode(Noun, frozen=True, kw_only=True):
    """What came of one life: its record and what was handed in."""

    trajectory: Trajectory
    submission: Submission


async def run_episode(
    task: Task, interface: Interface, sampler: Sampler, *, temperature: float, seed: int
) -> Episode:
    """Let the policy try the task once.

    ::

        episode = await run_episode(task, interface, sampler, temperature=1.0, seed=seed)
        judged = await judge(task, episode.submission, pool)

    Raises `PolicyError` when the sampler fails, or returns what cannot be recorded: text that is
    not Unicode, log-probabilities that are not finite or do not match the tokens.
    """
    prompt = interface.render(task.prompt)
    sampling = interface.sampling(temperature)
    completion = await sampler.sample(SampleRequest(prompt=prompt, sampling=sampling, seed=seed))
    _check(completion)
    turn = Turn(prompt=prompt, completion=completion)
    truncated = completion.stop is StopReason.LENGTH
    return Episode(
        trajectory=Trajectory(turns=(turn,), truncated=truncated),
        submission=interface.parse(completion.text),
    )


def _check(completion: Completion) -> None:
    """Refuse at the boundary what would otherwise fail in the log or poison training."""
    try:
        completion.text.encode()
    except UnicodeEncodeError as error:
        raise PolicyError(f"the sampler returned text that is not Unicode: {error}") from error
    logprobs_T = completion.logprobs_T  # noqa: N806
    if logprobs_T and len(logprobs_T) != len(completion.token_ids_T):
        raise PolicyError(
            f"the sampler returned {len(logprobs_T)} log-probabilities for "
            f"{len(completion.token_ids_T)} tokens"
        )
    if not math.isfinite(sum(logprobs_T)):
        raise PolicyError("the sampler returned a log-probability that is not finite")
