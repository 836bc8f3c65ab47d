"""What a family of tasks is, and how streams of distinct problems are drawn from one.

Invariant: the split of a problem is decided by the bucket of its id alone, and `stream` draws until
the buckets of its split are hit; no seed, count or order can put one problem on both sides.

Does not guarantee that two problems on different sides are far apart: a family adds to that by
keeping wordings and combinations of its parts for the held-out side (see `reserved`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from quintain.errors import TaskError, UserError
from quintain.ids import bucket, content_id
from quintain.types import Split, Task

__all__ = ["BUCKETS", "HELD_OUT_BUCKETS", "Family", "reserved", "split_of", "stream"]

BUCKETS = 16
HELD_OUT_BUCKETS = 5
"""Of `BUCKETS`: 31 % of all problems are never trained on."""

_PATIENCE = 1500
"""Draws without a new problem after which a stream is taken to be exhausted."""


class Family(Protocol):
    """Generates tasks of one kind at ordered levels."""

    @property
    def name(self) -> str:
        """Name, also part of every task id."""

    @property
    def version(self) -> str:
        """Changes whenever the same arguments give other tasks."""

    @property
    def domain(self) -> str:
        """For instance ``code``."""

    @property
    def levels(self) -> int:
        """Levels run from 1 to this one, the hardest."""

    def generate(self, level: int, split: Split, index: int, seed: int) -> Task:
        """Make one task, a pure function of the arguments; different indices may coincide.

        Raises `TaskError` when no problem of this level and split was found.
        """


def split_of(family: str, problem: str) -> Split:
    """Return the side of the wall that a problem is on."""
    held_out = bucket(content_id(family, problem), BUCKETS) < HELD_OUT_BUCKETS
    return Split.HELD_OUT if held_out else Split.TRAIN


def reserved(*parts: str) -> bool:
    """Tell whether a combination of parts, in any order, is kept for the held-out side: 1 of 6."""
    return bucket(content_id("combination", *sorted(parts)), 6) == 0


def check_level(family: Family, level: int) -> None:
    """Raise `UserError` for a level that the family does not have."""
    if not 1 <= level <= family.levels:
        raise UserError(
            f"family {family.name} has no level {level}", hint=f"levels are 1 to {family.levels}"
        )


def stream(
    family: Family,
    level: int,
    split: Split,
    seed: int,
    count: int,
    exclude: Collection[str] = (),
) -> list[Task]:
    """Draw ``count`` tasks with different problems.

    ``exclude`` holds ids of tasks that must not come back. Raises `UserError` for a level that
    does not exist, and `TaskError` when the level has too few problems left on this split.
    """
    check_level(family, level)
    taken = set(exclude)
    tasks: list[Task] = []
    index = misses = 0
    while len(tasks) < count:
        task = family.generate(level, split, index, seed)
        index += 1
        if task.id in taken:
            misses += 1
            if misses >= _PATIENCE:
                raise TaskError(
                    f"family {family.name} level {level} ran out of {split.value} problems: "
                    f"{len(tasks)} of {count} found",
                    hint="ask for fewer tasks, or add another level",
                )
            continue
        misses = 0
        taken.add(task.id)
        tasks.append(task)
    return tasks
