"""Families of verifiable tasks, and streams of distinct problems drawn from them."""

from quintain.tasks._describe import describe
from quintain.tasks._family import Family, split_of, stream
from quintain.tasks._interfaces import bare_interface, completion_interface
from quintain.tasks._number_problems import NumberProblems
from quintain.tasks._string_expression import StringExpression

__all__ = [
    "FAMILIES",
    "Family",
    "NumberProblems",
    "StringExpression",
    "bare_interface",
    "completion_interface",
    "describe",
    "split_of",
    "stream",
]

FAMILIES: tuple[Family, ...] = (StringExpression(), NumberProblems())
