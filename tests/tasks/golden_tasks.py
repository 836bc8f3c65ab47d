"""The first tasks of every family and level, as golden files.

Regenerate with ``python tests/tasks/golden_tasks.py`` after a family's version changed, and review
the difference: other tasks under the same version would make old runs unreadable.
"""

from __future__ import annotations

from pathlib import Path

from quintain.codec import encode
from quintain.tasks import FAMILIES, Family, stream
from quintain.types import Split

GOLDEN = Path(__file__).parent / "golden"
TASKS_A_LEVEL = 3


def golden_path(family: Family) -> Path:
    return GOLDEN / f"{family.name}.jsonl"


def golden_lines(family: Family) -> list[str]:
    return [
        encode(task).decode()
        for level in range(1, family.levels + 1)
        for split in Split
        for task in stream(family, level, split, 0, TASKS_A_LEVEL)
    ]


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in FAMILIES:
        golden_path(each).write_text("\n".join(golden_lines(each)) + "\n")
