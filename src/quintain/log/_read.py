"""The reading side: stream a run's records, or gather them.

Invariant: reading never changes a run, and a run that is still being written can be read: a line
that is not finished yet is what a torn line looks like. Damage raises; it is never skipped.
Not guaranteed: an order between trials of concurrent writers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from quintain.codec import digest
from quintain.errors import LogError, UserError
from quintain.interface import Interface
from quintain.log._manifest import Manifest, read_manifest
from quintain.log._records import (
    EventRecord,
    InterfaceRecord,
    IsolationRecord,
    MetricRecord,
    Record,
    TaskRecord,
    TrialRecord,
)
from quintain.log._segment import SegmentReader, segments_of
from quintain.types import IsolationReport, Noun, Task, Trial, TrialKey

__all__ = ["Recorded", "Run", "done", "read_run", "recorded", "records", "trials"]


class Recorded(Noun, frozen=True, kw_only=True):
    """A trial with everything that is needed to replay it or to judge it again."""

    trial: Trial
    task: Task
    interface: Interface
    isolation: IsolationReport | None
    """None when nothing was executed."""


class Run(Noun, frozen=True, kw_only=True):
    """A run, gathered in memory."""

    manifest: Manifest
    trials: tuple[Trial, ...]
    """In the order logged; of trials with one id the first stands."""
    tasks: Mapping[str, Task]
    """By `Task.variant`."""
    interfaces: Mapping[str, Interface]
    """By `Interface.digest`."""
    isolation: Mapping[str, IsolationReport]
    """By the report's digest."""
    metrics: tuple[MetricRecord, ...]
    events: tuple[EventRecord, ...]
    torn: int
    """Segments that end in a write that was cut off; it was never acknowledged."""
    duplicates: tuple[str, ...]
    """Ids of trials that were logged again; a healthy run has none."""


def records(run_dir: Path) -> Iterator[Record]:
    """Stream all records of all segments, in order, headers left out.

    Raises `UserError` when there is no such run, `LogError` for damage.
    """
    for reader in _readers(run_dir):
        yield from reader


def trials(run_dir: Path) -> Iterator[Trial]:
    """Stream the trials of a run, each id once: the first one logged stands."""
    seen: set[str] = set()
    for record in records(run_dir):
        if isinstance(record, TrialRecord) and record.trial.id not in seen:
            seen.add(record.trial.id)
            yield record.trial


def done(run_dir: Path) -> dict[TrialKey, Trial]:
    """Return the acknowledged trials by key: what a resumed run must not sample again."""
    return {trial.key: trial for trial in trials(run_dir)}


def recorded(run_dir: Path) -> Iterator[Recorded]:
    """Stream trials with their task, interface and isolation report.

    A trial refers to the last record of that name before it in its segment.
    Raises `LogError` when one is missing.
    """
    seen: set[str] = set()
    for reader in _readers(run_dir):
        context = _Context()
        for record in reader:
            context.take(record)
            if isinstance(record, TrialRecord) and record.trial.id not in seen:
                seen.add(record.trial.id)
                yield context.complete(record.trial, reader.path)


def read_run(run_dir: Path) -> Run:
    """Gather a whole run in memory; raises `UserError` or `LogError` like `records`."""
    manifest = read_manifest(run_dir)
    context = _Context()
    by_id: dict[str, Trial] = {}
    metrics: list[MetricRecord] = []
    events: list[EventRecord] = []
    duplicates: list[str] = []
    torn = 0
    for reader in _readers(run_dir):
        for record in reader:
            context.take(record)
            match record:
                case TrialRecord(trial=trial):
                    if trial.id in by_id:
                        duplicates.append(trial.id)
                    by_id.setdefault(trial.id, trial)
                case MetricRecord():
                    metrics.append(record)
                case EventRecord():
                    events.append(record)
        torn += reader.torn_bytes > 0
    return Run(
        manifest=manifest,
        trials=tuple(by_id.values()),
        tasks=context.tasks,
        interfaces=context.interfaces,
        isolation=context.isolation,
        metrics=tuple(metrics),
        events=tuple(events),
        torn=torn,
        duplicates=tuple(duplicates),
    )


class _Context:
    """What trials refer to by name, as far as it has been read."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.interfaces: dict[str, Interface] = {}
        self.isolation: dict[str, IsolationReport] = {}

    def take(self, record: Record) -> None:
        match record:
            case TaskRecord(task=task):
                self.tasks[task.variant] = task
            case InterfaceRecord(interface=interface):
                self.interfaces[interface.digest] = interface
            case IsolationRecord(report=report):
                self.isolation[digest(report)] = report

    def complete(self, trial: Trial, path: Path) -> Recorded:
        try:
            return Recorded(
                trial=trial,
                task=self.tasks[trial.key.task_variant],
                interface=self.interfaces[trial.interface],
                isolation=self.isolation[trial.isolation] if trial.isolation else None,
            )
        except KeyError as error:
            raise LogError(
                f"{path}: trial {trial.id} refers to {error}, which is not logged before it"
            ) from error


def _readers(run_dir: Path) -> Iterator[SegmentReader]:
    if not run_dir.is_dir():
        raise UserError(f"{run_dir}: is not a run directory", hint="quintain run makes one")
    return map(SegmentReader, segments_of(run_dir))
