"""Reads ``TASKS`` as the command line spells them: a file, or ``FAMILY[@LEVELS][#COUNT]``.

The only place where such a text is read; everything deeper gets tasks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quintain.errors import UserError

if TYPE_CHECKING:
    from quintain.tasks import Family
    from quintain.types import Split, Task

__all__ = ["TASKS_HELP", "FamilyChoice", "chosen_family", "chosen_tasks", "parse_levels"]

TASKS_HELP = "TASKS is a file, or FAMILY[@LEVELS][#COUNT], for instance number_problems@1-3,5#20."

DEFAULT_COUNT = 10
_MOST = 1_000_000
_FAMILY = re.compile(r"(?P<name>\w+)(?:@(?P<levels>[\d,-]*))?(?:#(?P<count>\d*))?")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True)
class FamilyChoice:
    """Levels of a family, and how many tasks in all."""

    family: Family
    levels: tuple[int, ...]
    count: int

    def draw(self, split: Split, seed: int) -> list[Task]:
        """Draw the tasks: as evenly over the levels as the count allows, easiest first."""
        from quintain.tasks import stream

        tasks: list[Task] = []
        for number, level in enumerate(self.levels):
            share = (self.count + len(self.levels) - 1 - number) // len(self.levels)
            taken = {task.id for task in tasks}
            tasks += stream(self.family, level, split, seed, share, exclude=taken)
        return tasks


def parse_levels(text: str, most: int) -> tuple[int, ...]:
    """Read levels such as ``1-3,5``; raises `UserError` for any that do not exist.

    >>> parse_levels("1-3,5", 6)
    (1, 2, 3, 5)
    """
    levels: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        if found is None or len(part) > 12:
            raise UserError(f"levels {text!r}: cannot read {part!r}", hint="for instance 1-3,5")
        low, high = int(found[1]), int(found[2] or found[1])
        if not 1 <= low <= high <= most:
            raise UserError(f"levels {text!r}: {part!r} is not within 1-{most}")
        levels |= set(range(low, high + 1))
    return tuple(sorted(levels))


def chosen_family(text: str) -> FamilyChoice:
    """Read ``FAMILY[@LEVELS][#COUNT]``; raises `UserError` for anything else."""
    from quintain.tasks import FAMILIES

    found = _FAMILY.fullmatch(text)
    family = next((one for one in FAMILIES if found and one.name == found["name"]), None)
    if found is None or family is None:
        names = ", ".join(sorted(one.name for one in FAMILIES))
        raise UserError(f"{text!r} is neither a file nor a family", hint=f"families: {names}")
    every = f"1-{family.levels}"
    levels = parse_levels(every if found["levels"] is None else found["levels"], family.levels)
    count = DEFAULT_COUNT if found["count"] is None else int(found["count"] or 0)
    if not 1 <= count <= _MOST:
        raise UserError(f"{text!r}: the count must be 1 to {_MOST}", hint=f"{family.name}#20")
    return FamilyChoice(family, levels, count)


def chosen_tasks(text: str, *, split: Split, seed: int) -> Sequence[Task]:
    """Return the tasks of a file, or draw those of a family.

    ``split`` and ``seed`` concern families alone. Raises `UserError` when there are none, and for a
    file that holds something else, naming line and field.
    """
    path = Path(text)
    if path.is_file() or (not _FAMILY.fullmatch(text) and path.suffix):
        from quintain.tasks.formats import read_tasks

        return list(read_tasks(path))
    return chosen_family(text).draw(split, seed)
