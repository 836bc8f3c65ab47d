"""Judges: from a task and a submission to a verdict, and from a verdict to a reward.

The parts: `wire` carries plain values, `judge` dispatches to the `answer` and `cases` judges,
`reward` applies a rule, `JudgeCache` remembers verdicts of identical submissions.
"""

from quintain.judge._answer import parse_number
from quintain.judge._cache import JudgeCache, cache_key
from quintain.judge._finding import Judged, judge_id
from quintain.judge._judge import judge
from quintain.judge._reward import reward

__all__ = [
    "JudgeCache",
    "Judged",
    "cache_key",
    "judge",
    "judge_id",
    "parse_number",
    "reward",
]
