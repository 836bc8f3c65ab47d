"""Rollouts: many attempts at many tasks, each of which ends exactly once and is logged first.

`rollout` needs a sampler, a judge (`judge_in` a sandbox pool) and a log. `Budget` ends it early,
`FaultMonitor` ends it when the infrastructure spoils too much.
"""

from quintain.rollout._attempt import Judge, Retry, judge_in
from quintain.rollout._budget import Budget
from quintain.rollout._engine import Capacity
from quintain.rollout._faults import FaultMonitor
from quintain.rollout._rollout import rollout

__all__ = [
    "Budget",
    "Capacity",
    "FaultMonitor",
    "Judge",
    "Retry",
    "judge_in",
    "rollout",
]
