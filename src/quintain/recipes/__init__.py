"""Recipes: whole post-training runs, wired by name and read from top to bottom.

`prepare` or `resume` checks everything and makes a `Plan`; `execute` runs it. Nothing is written
before the plan stands.
"""

from quintain.recipes._catalogue import describe
from quintain.recipes._config import Precision, RunConfig
from quintain.recipes._plan import Plan, prepare, resume
from quintain.recipes._result import RunResult, result_json
from quintain.recipes._run import execute

__all__ = [
    "Plan",
    "Precision",
    "RunConfig",
    "RunResult",
    "describe",
    "execute",
    "prepare",
    "result_json",
    "resume",
]
