"""Task files, datasets of others, rows for other trainers, and overlap between sets of tasks."""

from quintain.tasks.formats._exporting import EXPORTS, export_tasks, trl_row, verl_row
from quintain.tasks.formats._files import read_rows, read_tasks, write_atomically, write_tasks
from quintain.tasks.formats._importing import FORMATS, Format, ImportCounts, import_tasks
from quintain.tasks.formats._overlap import NEAR, NearPair, Overlap, overlap
from quintain.tasks.formats._settle import LeftOut

__all__ = [
    "EXPORTS",
    "FORMATS",
    "NEAR",
    "Format",
    "ImportCounts",
    "LeftOut",
    "NearPair",
    "Overlap",
    "export_tasks",
    "import_tasks",
    "overlap",
    "read_rows",
    "read_tasks",
    "trl_row",
    "verl_row",
    "write_atomically",
    "write_tasks",
]
