"""Which family and level to try next: a floor for all, the rest by learnability.

For each (family, level) the state keeps solved and unsolved attempts, older ones counting less, and
with them a Beta posterior of the solve rate p. A level teaches most where attempts disagree, so its
score is the posterior mean of p(1 - p), the variance of one attempt's success::

    a = m·s + solved,  b = (1 - m)·s + unsolved,  score = a·b / ((a + b)·(a + b + 1))

The prior mean m climbs a ladder: the lowest level starts at ``first``, each further one at ``step``
times the posterior mean of the level below. So a level is tried in earnest once the one below it is
mastered, however long it has gone untried, and not before.

Invariant: weights are positive wherever the family's share is, and sum to 1; every level keeps at
least ``floor / levels`` of its family's share, so that a forgotten level is noticed.
Pure: no clock, no I/O, no hidden randomness. Not guaranteed: that learnable levels exist.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import msgspec

from quintain.errors import UserError
from quintain.types import Noun

__all__ = ["Curriculum", "Level", "Settings", "choose", "solve_rate", "start", "update", "weights"]


class Settings(Noun, frozen=True, kw_only=True):
    """How a curriculum behaves. The defaults suit a few hundred attempts a step."""

    floor: float = 0.2
    """Part of a family's share that is spread evenly over its levels."""
    half_life: float = 256.0
    """Attempts at a level after which an older attempt at it counts half. Small values follow a
    fast learner, large ones give steadier weights."""
    strength: float = 8.0
    """How many attempts the prior is worth."""
    first: float = 0.5
    """Prior solve rate of the lowest level."""
    step: float = 0.6
    """Prior solve rate of a level, relative to what is believed of the level below."""


class Level(Noun, frozen=True, kw_only=True):
    """What is remembered of one level."""

    solved: float = 0.0
    unsolved: float = 0.0


class Curriculum(Noun, frozen=True, kw_only=True):
    """The state: settings, shares and memory. Make it with `start`, change it with `update`."""

    settings: Settings
    shares: Mapping[str, float]
    """Family to its part of all choices; they sum to 1."""
    levels: Mapping[str, tuple[Level, ...]]
    """Family to what is remembered of levels 1, 2, ….."""


def start(
    levels: Mapping[str, int],
    *,
    shares: Mapping[str, float] | None = None,
    settings: Settings | None = None,
) -> Curriculum:
    """Begin with no memory: ``levels`` is the number of levels of each family.

    ``shares`` are relative and default to equal; a family with share 0 is never chosen.
    Raises `UserError` for no families, no levels, or numbers out of range.
    """
    given = dict.fromkeys(levels, 1.0) if shares is None else shares
    if not levels or set(given) != set(levels):
        raise UserError(f"curriculum: shares name {sorted(given)}, levels name {sorted(levels)}")
    for family in levels:
        if levels[family] < 1 or not (math.isfinite(given[family]) and given[family] >= 0):
            raise UserError(
                f"curriculum: family {family} has {levels[family]} levels and share "
                f"{given[family]}; it needs at least 1 level and a share of at least 0"
            )
    total = math.fsum(given.values())
    if not total > 0:
        raise UserError("curriculum: no family has a share above 0")
    return Curriculum(
        settings=_checked(settings or Settings()),
        shares={family: given[family] / total for family in levels},
        levels={family: (Level(),) * count for family, count in levels.items()},
    )


def update(state: Curriculum, family: str, level: int, *, solved: int, total: int) -> Curriculum:
    """Remember ``total`` more attempts at a level, ``solved`` of which succeeded.

    Count scored attempts only: an invalid one says nothing about the policy.
    Raises `UserError` for an unknown level, or counts that do not fit together.
    """
    memory = _family(state, family)
    if not 1 <= level <= len(memory) or not 0 <= solved <= total:
        raise UserError(
            f"curriculum: {solved} of {total} at level {level} of {family}, "
            f"which has levels 1 to {len(memory)}"
        )
    kept = 0.5 ** (total / state.settings.half_life)
    old = memory[level - 1]
    new = Level(solved=old.solved * kept + solved, unsolved=old.unsolved * kept + (total - solved))
    changed = (*memory[: level - 1], new, *memory[level:])
    return msgspec.structs.replace(state, levels={**state.levels, family: changed})


def solve_rate(state: Curriculum, family: str, level: int) -> float:
    """Return the posterior mean of a level's solve rate: what is believed, evidence or not."""
    a, b = _posteriors(state, family)[level - 1]
    return a / (a + b)


def weights(state: Curriculum) -> dict[tuple[str, int], float]:
    """Return the part of all choices that each (family, level) should get; they sum to 1."""
    floor = state.settings.floor
    found: dict[tuple[str, int], float] = {}
    for family, share in sorted(state.shares.items()):  # not by order of insertion
        scores = [a * b / ((a + b) * (a + b + 1)) for a, b in _posteriors(state, family)]
        total = math.fsum(scores)
        for level, score in enumerate(scores, start=1):
            found[family, level] = share * (floor / len(scores) + (1 - floor) * score / total)
    return found


def choose(rng: random.Random, state: Curriculum, count: int) -> list[tuple[str, int]]:
    """Draw ``count`` (family, level) pairs by weight, in random order.

    Draws are systematic: one random offset, equal steps. Each pair comes up within one of
    ``count`` times its weight, which wastes fewer attempts than independent draws.
    """
    if count < 0:
        raise UserError(f"curriculum: cannot choose {count} levels")
    offset = rng.random()
    chosen: list[tuple[str, int]] = []
    reached = 0.0
    possible = {pair: weight for pair, weight in weights(state).items() if weight > 0}
    for pair, weight in possible.items():
        reached += weight * count
        chosen += [pair] * (min(count, math.ceil(reached - offset)) - len(chosen))
    # rounding may leave the sum of weights a hair below 1: the last pair takes what is missing
    chosen += [pair] * (count - len(chosen))
    rng.shuffle(chosen)
    return chosen


def _posteriors(state: Curriculum, family: str) -> list[tuple[float, float]]:
    """Return the Beta parameters of all levels, lowest first; each informs the next."""
    settings = state.settings
    mean = settings.first / settings.step
    found = []
    for level in _family(state, family):
        prior = mean * settings.step
        a = prior * settings.strength + level.solved
        b = (1 - prior) * settings.strength + level.unsolved
        found.append((a, b))
        mean = a / (a + b)
    return found


def _family(state: Curriculum, family: str) -> tuple[Level, ...]:
    try:
        return state.levels[family]
    except KeyError as error:
        raise UserError(
            f"curriculum: unknown family {family!r}", hint=f"it knows {sorted(state.levels)}"
        ) from error


def _checked(settings: Settings) -> Settings:
    for name, value, holds, wanted in (
        ("floor", settings.floor, 0 < settings.floor <= 1, "above 0, at most 1"),
        ("half_life", settings.half_life, settings.half_life > 0, "above 0"),
        ("strength", settings.strength, 0 < settings.strength < math.inf, "above 0"),
        ("first", settings.first, 0 < settings.first < 1, "between 0 and 1"),
        ("step", settings.step, 0 < settings.step < 1, "between 0 and 1"),
    ):
        if not holds:
            raise UserError(f"curriculum: {name} is {value}, must be {wanted}")
    return settings
