"""Pure statistics: no clock, no I/O, equal results for equal input and seed.

Estimates that the data cannot support are `NotEstimable` values, never 0. Nothing here corrects
for stopping early or for testing many hypotheses.
"""

from quintain.stats._bootstrap import (
    IntervalMethod,
    PairedDifference,
    mean_interval,
    paired_difference,
)
from quintain.stats._means import (
    clustered_se,
    effective_sample_size,
    spearman,
    standard_error,
)
from quintain.stats._power import minimum_detectable_effect, tasks_required
from quintain.stats._proportions import (
    mcnemar_exact,
    pass_at_k,
    rogan_gladen,
    wilson,
    zero_events_upper,
)
from quintain.stats._values import Interval, NotEstimable

__all__ = [
    "Interval",
    "IntervalMethod",
    "NotEstimable",
    "PairedDifference",
    "clustered_se",
    "effective_sample_size",
    "mcnemar_exact",
    "mean_interval",
    "minimum_detectable_effect",
    "paired_difference",
    "pass_at_k",
    "rogan_gladen",
    "spearman",
    "standard_error",
    "tasks_required",
    "wilson",
    "zero_events_upper",
]
