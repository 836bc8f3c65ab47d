"""What a run writes down: one small record type per kind of line.

A segment is self-contained: the `TaskRecord`, `InterfaceRecord` and `IsolationRecord` that a trial
refers to stand before it in the same segment, so that it can be replayed and judged again without
the code that made it. Metrics and events are for people; no trial depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping

from quintain.interface import Interface
from quintain.types import IsolationReport, Noun, Task, Trial

__all__ = [
    "SCHEMA_VERSION",
    "EventRecord",
    "HeaderRecord",
    "InterfaceRecord",
    "IsolationRecord",
    "MetricRecord",
    "Record",
    "TaskRecord",
    "TrialRecord",
]

SCHEMA_VERSION = 1
"""Of the records and of the nouns in them. A golden segment exists for every version written."""


class HeaderRecord(Noun, frozen=True, kw_only=True, tag="header"):
    """First line of every segment."""

    schema_version: int = SCHEMA_VERSION


class TaskRecord(Noun, frozen=True, kw_only=True, tag="task"):
    """A task; trials name it by `Task.variant`."""

    task: Task


class InterfaceRecord(Noun, frozen=True, kw_only=True, tag="interface"):
    """An interface; trials name it by `Interface.digest`."""

    interface: Interface


class IsolationRecord(Noun, frozen=True, kw_only=True, tag="isolation"):
    """An isolation report; trials name it by its `codec.digest`."""

    report: IsolationReport


class TrialRecord(Noun, frozen=True, kw_only=True, tag="trial"):
    """One attempt."""

    trial: Trial


class MetricRecord(Noun, frozen=True, kw_only=True, tag="metric"):
    """Numbers of one step; every value is finite."""

    phase: str
    step: int
    values: Mapping[str, float]


class EventRecord(Noun, frozen=True, kw_only=True, tag="event"):
    """Something that people should be able to find later: a retry, a resume, a stop."""

    kind: str
    message: str
    at: float
    """Seconds since the epoch."""


Record = (
    HeaderRecord
    | TaskRecord
    | InterfaceRecord
    | IsolationRecord
    | TrialRecord
    | MetricRecord
    | EventRecord
)
