"""Reports and progress for people. Only this package makes HTML.

`write_report` writes the page of a run, `terminal_summary` its few lines, `open_progress` shows a
run while it lives. Nothing here measures or decides; the figures come from `quintain.evaluate`.
"""

from quintain.view._collect import choose_exhibits, held_out_point, level_cells, result
from quintain.view._live import Progress, open_progress
from quintain.view._model import (
    Attempt,
    CaseLine,
    Exhibit,
    ExhibitKind,
    HealthPoint,
    HeldOutPoint,
    LevelCell,
    Result,
    RunReport,
    Separation,
    TimeSpent,
    TrainPoint,
)
from quintain.view._report import terminal_summary, write_report
from quintain.view._text import visible

__all__ = [
    "Attempt",
    "CaseLine",
    "Exhibit",
    "ExhibitKind",
    "HealthPoint",
    "HeldOutPoint",
    "LevelCell",
    "Progress",
    "Result",
    "RunReport",
    "Separation",
    "TimeSpent",
    "TrainPoint",
    "choose_exhibits",
    "held_out_point",
    "level_cells",
    "open_progress",
    "result",
    "terminal_summary",
    "visible",
    "write_report",
]
