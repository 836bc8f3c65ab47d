"""Writes tasks as rows that other trainers read.

TRL and verl rows carry the whole task as JSON text besides the columns that those libraries know,
so that a reward function can judge by it. Does not write reward functions.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from quintain.codec import encode
from quintain.errors import UserError
from quintain.tasks.formats._files import write_atomically, write_tasks
from quintain.types import AnswerSpec, Task

__all__ = ["EXPORTS", "export_tasks", "trl_row", "verl_row"]

EXPORTS = ("jsonl", "parquet", "trl", "verl")


def trl_row(task: Task, index: int) -> dict[str, object]:
    """Return a row for TRL: columns other than ``prompt`` reach the reward function."""
    return {
        "prompt": [{"role": "user", "content": task.prompt}],
        "answer": _truth(task),
        "family": task.family,
        "level": task.level,
        "index": index,
        "task": encode(task).decode(),
    }


def verl_row(task: Task, index: int) -> dict[str, object]:
    """Return a row for verl: the reward function gets ``ground_truth`` and ``extra_info``."""
    return {
        "data_source": f"quintain/{task.family}",
        "prompt": [{"role": "user", "content": task.prompt}],
        "ability": task.domain,
        "reward_model": {"style": "rule", "ground_truth": _truth(task)},
        "extra_info": {
            "split": task.split.value,
            "index": index,
            "level": task.level,
            "task": encode(task).decode(),
        },
    }


def _truth(task: Task) -> str:
    return task.judge.expected if isinstance(task.judge, AnswerSpec) else task.gold


def export_tasks(kind: str, tasks: Sequence[Task], path: Path, *, replace: bool = False) -> int:
    """Write tasks to a file, whole or not at all, and return how many rows it has.

    ``kind`` is one of `EXPORTS`. Raises `UserError` when the file cannot be written, and for
    Parquet without pyarrow.
    """
    if not tasks:
        raise UserError("there are no tasks to write")
    rows: dict[str, Callable[[Task, int], dict[str, object]]] = {"trl": trl_row, "verl": verl_row}
    if kind == "jsonl":
        return write_tasks(path, tasks, replace=replace)
    if kind in rows:
        return write_atomically(path, _rows(tasks, rows[kind]), replace=replace)
    if kind == "parquet":
        return _parquet(tasks, path, replace=replace)
    raise UserError(f"no export format is called {kind!r}", hint=f"one of {', '.join(EXPORTS)}")


def _rows(tasks: Iterable[Task], row: Callable[[Task, int], dict[str, object]]) -> Iterator[bytes]:
    for index, task in enumerate(tasks):
        yield encode(row(task, index))


def _parquet(tasks: Sequence[Task], path: Path, *, replace: bool) -> int:
    """Write the fields of tasks as columns; judge, wrong answers and limits are JSON text."""
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise UserError("Parquet needs pyarrow", hint="pip install pyarrow") from error
    if path.exists() and not replace:
        raise UserError(f"{path}: exists already", hint="choose another name, or --force")
    table = arrow.Table.from_pylist([_columns(task) for task in tasks])
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as directory:
            temporary = Path(directory) / "tasks.parquet"
            parquet.write_table(table, temporary)
            os.replace(temporary, path)  # noqa: PTH105  the name is gone with the directory
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    return len(tasks)


def _columns(task: Task) -> dict[str, object]:
    plain = {
        name: getattr(task, name)
        for name in task.__struct_fields__
        if isinstance(getattr(task, name), str | int)
    }
    nested = {
        name: encode(getattr(task, name)).decode()
        for name in task.__struct_fields__
        if name not in plain
    }
    return {"id": task.id, **plain, **nested, "split": task.split.value}
