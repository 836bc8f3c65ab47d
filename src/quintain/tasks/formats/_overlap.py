"""Problems that two sets of tasks share, by hash and by resemblance of their prompts.

Resemblance is the Jaccard similarity of the sets of word 3-grams of two prompts, in lower case and
without punctuation. Pairs at or above the threshold are found exactly, by prefix filtering: two
sets that are similar enough share one of their rarest members (Chaudhuri, Ganti and Kaushik, A
primitive operator for similarity joins in data cleaning, ICDE 2006).

Does not find the same problem told in other words.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from quintain.errors import UserError
from quintain.types import Noun, Task

__all__ = ["NEAR", "NearPair", "Overlap", "overlap"]

NEAR = 0.8
"""Similarity from which two prompts are near-duplicates, when nobody says otherwise."""

_WORDS = 3
_WORD = re.compile(r"[^\W_]+|[-+*/%<>=!]+")


class NearPair(Noun, frozen=True, kw_only=True):
    """Two prompts that resemble each other; the problems differ by hash."""

    left: str
    """`Task.id` in the first set."""
    right: str
    similarity: float


class Overlap(Noun, frozen=True, kw_only=True):
    """What two sets of tasks share."""

    left: int
    """Tasks in the first set."""
    right: int
    same: tuple[str, ...]
    """`Task.id`s in both."""
    near: tuple[NearPair, ...]
    threshold: float

    @property
    def found(self) -> bool:
        """Whether anything is shared."""
        return bool(self.same or self.near)


def overlap(left: Sequence[Task], right: Sequence[Task], *, threshold: float = NEAR) -> Overlap:
    """Compare two sets of tasks. Raises `UserError` for a threshold outside (0, 1]."""
    if not 0 < threshold <= 1:
        raise UserError(f"threshold must be above 0 and at most 1, not {threshold}")
    same = {task.id for task in left} & {task.id for task in right}
    ours = {task.id: _grams(task.prompt) for task in left}
    theirs = {task.id: _grams(task.prompt) for task in right}
    pairs = _similar(ours, theirs, threshold)
    near = [
        NearPair(left=a, right=b, similarity=round(value, 4)) for a, b, value in pairs if a != b
    ]
    near.sort(key=lambda pair: (-pair.similarity, pair.left, pair.right))
    return Overlap(
        left=len(ours),
        right=len(theirs),
        same=tuple(sorted(same)),
        near=tuple(near),
        threshold=threshold,
    )


def _grams(text: str) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    if len(words) < _WORDS:
        return frozenset([" ".join(words)])
    return frozenset(
        " ".join(words[start : start + _WORDS]) for start in range(len(words) - _WORDS + 1)
    )


def _similar(
    left: Mapping[str, frozenset[str]], right: Mapping[str, frozenset[str]], threshold: float
) -> Iterable[tuple[str, str, float]]:
    common = Counter(gram for side in (left, right) for grams in side.values() for gram in grams)
    index: defaultdict[str, list[str]] = defaultdict(list)
    for name, grams in right.items():
        for gram in _prefix(grams, common, threshold):
            index[gram].append(name)
    for name, grams in left.items():
        near = {other for gram in _prefix(grams, common, threshold) for other in index[gram]}
        for other in sorted(near):
            shared = len(grams & right[other])
            similarity = shared / (len(grams) + len(right[other]) - shared)
            if similarity >= threshold:
                yield name, other, similarity


def _prefix(grams: Collection[str], common: Mapping[str, int], threshold: float) -> list[str]:
    """Return the rarest members, of which similar sets share at least one."""
    kept = len(grams) - math.ceil(threshold * len(grams) - 1e-9) + 1
    return sorted(grams, key=lambda gram: (common[gram], gram))[:kept]
