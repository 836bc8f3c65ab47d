"""Carry out a plan: open what a run needs, run it, tell what it found."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import anyio

from quintain.errors import LogError, UserError
from quintain.ids import content_id
from quintain.log import AuditLog, RunLog, done, make_manifest, read_manifest, write_manifest
from quintain.recipes._config import RunConfig
from quintain.recipes._draws import CODE, held_out
from quintain.recipes._learner import Learner, finished, open_learner
from quintain.recipes._lock import sole_writer
from quintain.recipes._models import model_name
from quintain.recipes._plan import Plan
from quintain.recipes._report import Story, tell
from quintain.recipes._result import RunResult, result_json
from quintain.recipes._session import Session
from quintain.recipes._spine import post_train
from quintain.rollout import Capacity, judge_in
from quintain.sandbox import open_pool
from quintain.tasks import FAMILIES
from quintain.types import Task
from quintain.view import open_progress, terminal_summary

__all__ = ["execute"]


def execute(plan: Plan, *, quiet: bool = False) -> RunResult:
    """Carry out a plan and write ``report.html`` and ``result.json`` into its directory.

    ``quiet`` keeps progress and summary off the terminal. A run that is interrupted, killed or
    fails can be resumed; so can one whose budget ended it.
    """
    try:
        story = anyio.run(_execute, plan, quiet)
    except OSError as error:
        _hint_at_resume(plan)
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        raise LogError(
            f"{plan.run_dir}: cannot be written: {error.strerror}",
            hint="free space, then resume the run",
        ) from error
    except BaseException:  # whatever ended the run: what it recorded is kept, and people are told
        _hint_at_resume(plan)
        raise
    if not quiet:
        print(terminal_summary(story.report))  # noqa: T201 - the result of the command
    return story.result


def _hint_at_resume(plan: Plan) -> None:
    if not plan.resumed and (Path(plan.run_dir) / "manifest.json").exists():
        print(f"to go on: quintain run --resume {plan.run_dir}", file=sys.stderr)  # noqa: T201


async def _execute(plan: Plan, quiet: bool) -> Story:
    began = time.monotonic()
    config, run_dir = plan.config, Path(plan.run_dir)
    with ExitStack() as stack:
        if plan.resumed:
            stack.enter_context(sole_writer(run_dir))
            if finished(run_dir):  # only told again
                return _tell(run_dir, config, stopped="")
        progress = stack.enter_context(open_progress(json=quiet))
        progress.phase("opening sandboxes")
        async with open_pool(slots=config.sandboxes) as pool:
            progress.phase("loading the model")
            learner = await anyio.to_thread.run_sync(open_learner, config, run_dir)
            suite = held_out(config)
            pinned = _digests(learner, suite)
            if plan.resumed:
                _check_pins(run_dir, pinned)
            else:
                write_manifest(run_dir, make_manifest(config, seed=config.seed, digests=pinned))
                stack.enter_context(sole_writer(run_dir))
            recorded = done(run_dir) if plan.resumed else {}
            with RunLog(run_dir) as log, AuditLog(run_dir) as audit_log:
                session = Session(
                    seed=config.seed,
                    log=log,
                    audit=partial(audit_log.append, "execution"),
                    sampler=learner.sampler,
                    judge=judge_in(pool),
                    interface=learner.interface,
                    done=recorded,
                    progress=progress,
                    capacity=Capacity(sampling=config.batch_size, judging=2 * config.sandboxes),
                    max_trials=plan.max_trials,
                    max_seconds=None if plan.max_minutes is None else 60 * plan.max_minutes,
                    began=began,
                )
                if plan.resumed:
                    session.event("resume", f"{len(recorded)} trials on record")
                try:
                    await post_train(config, session, learner, learner.position)
                    learner.export(run_dir / "model", final=not session.stopped)
                finally:  # after a log error this fails too, and the first error is told
                    with suppress(LogError):
                        session.metric("time", 0, {"life": time.monotonic() - began})
            progress.phase("writing the report")
            return _tell(run_dir, config, stopped=session.stopped)


def _check_pins(run_dir: Path, pinned: Mapping[str, str]) -> None:
    """Refuse to mix a run with tasks or interfaces that it was not begun with."""
    recorded = read_manifest(run_dir).digests
    for name, digest in pinned.items():
        if recorded.get(name) != digest:
            raise UserError(
                f"{run_dir / 'manifest.json'}: digests.{name}: the run was begun with "
                f"{recorded.get(name)}, this version gives {digest}",
                hint="resume with the version of quintain that began the run",
            )


def _tell(run_dir: Path, config: RunConfig, *, stopped: str) -> Story:
    """Write report and result."""
    story = tell(run_dir, config, summary=_summary(config), stopped=stopped)
    partial_path = run_dir / ".result.json"
    partial_path.write_text(result_json(story.result) + "\n")
    partial_path.rename(run_dir / "result.json")
    return story


def _digests(learner: Learner, suite: list[Task]) -> dict[str, str]:
    """Return what the run is pinned to, besides its config."""
    return {
        "held_out": content_id(*[task.variant for task in suite]),
        **{
            f"interface/{family.name}": learner.interfaces[family.name].digest
            for family in FAMILIES
        },
        **{f"family/{family.name}": content_id(family.name, family.version) for family in FAMILIES},
    }


def _summary(config: RunConfig) -> str:
    code = f"English into Python string expressions ({CODE.name})"
    return (
        f"{model_name(config)} learned to turn {code} by {config.sft_steps} steps of SFT on "
        f"demonstrations and up to {config.grpo_steps} steps of GRPO on executed rewards."
    )
