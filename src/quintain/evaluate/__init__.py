"""Evidence that training never saw: held-out pass rates and their paired change.

`evaluate` measures one policy, `compare` pairs two measurements, `check_overlap` guards the wall
between the splits. Nothing in `quintain.train` can import this package.
"""

from quintain.evaluate._compare import compare
from quintain.evaluate._evaluate import Rollout, evaluate
from quintain.evaluate._model import (
    Evaluation,
    LevelSummary,
    Metric,
    Paired,
    Summary,
    TaskScore,
)
from quintain.evaluate._overlap import check_overlap
from quintain.evaluate._summarise import summarise

__all__ = [
    "Evaluation",
    "LevelSummary",
    "Metric",
    "Paired",
    "Rollout",
    "Summary",
    "TaskScore",
    "check_overlap",
    "compare",
    "evaluate",
    "summarise",
]
