"""Family `number_problems`: short problems whose answer is an integer or a simple decimal.

Levels: 1 add, 2 subtract or the largest of three, 3 multiply, also prices, 4 two steps, 5 two steps
told as a story, 6 three steps, or what is left over after sharing.

Invariant: the gold answer is computed with integers (prices in cents), never with floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from random import Random

from quintain.errors import TaskError
from quintain.ids import rng
from quintain.tasks._family import check_level, split_of
from quintain.tasks._number_wordings import LINKS, NAMES, STORIES, THINGS, WORDINGS, Wordings
from quintain.types import AnswerKind, AnswerSpec, Split, Task, WrongAnswer

__all__ = ["WORKED", "NumberProblems"]

WORKED = ("6 + 2", "9 - 5", "largest 3 4 8")
"""Problems of the worked examples in prompts: on neither split."""

_CENTS = 100
_KEPT = {("subtract", "multiply"), ("multiply", "subtract")}
"""Operations that follow each other on the held-out side alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sum:
    """A problem drawn but not yet worded."""

    problem: str
    parts: tuple[str, ...]
    """Names of the operations, for reserving combinations."""
    wordings: Wordings
    numbers: tuple[object, ...]
    value: int
    wrong: tuple[tuple[str, int], ...]
    """Kind and value."""
    cents: bool = False


@dataclass(frozen=True, slots=True)
class NumberProblems:
    """Short number problems in words."""

    name: str = "number_problems"
    version: str = "1"
    domain: str = "maths"
    levels: int = 6

    def generate(self, level: int, split: Split, index: int, seed: int) -> Task:
        """Make one task; see `Family.generate`."""
        check_level(self, level)
        generator = rng(self.name, self.version, level, split.value, index, seed)
        held_out = split is Split.HELD_OUT
        unseen = held_out and generator.random() < 0.5
        wants_reserved = held_out and generator.random() < 0.5
        for attempt in range(10_000):
            drawn = _draw(level, generator)
            if drawn.problem in WORKED or split_of(self.name, drawn.problem) is not split:
                continue
            kept = any(pair in _KEPT for pair in pairwise(drawn.parts))
            if kept and not held_out:
                continue
            # The first levels have no combinations: after a while take what comes.
            if wants_reserved and not kept and level > 3 and attempt < 500:
                continue
            return self._task(level, split, drawn, generator, unseen, kept)
        raise TaskError(f"family {self.name} level {level} has no {split.value} problem")

    def _task(
        self, level: int, split: Split, drawn: _Sum, generator: Random, unseen: bool, kept: bool
    ) -> Task:
        wordings = drawn.wordings.unseen if unseen else drawn.wordings.seen
        number = generator.randrange(len(wordings))
        names = (generator.choice(NAMES), generator.choice(THINGS))
        gold = _write(drawn.value, drawn.cents)
        wrong = {_write(value, drawn.cents): kind for kind, value in reversed(drawn.wrong)}
        wrong |= {_write(drawn.value + 1, drawn.cents): "off_by_one"}
        wrong.pop(gold, None)
        return Task(
            family=self.name,
            family_version=self.version,
            domain=self.domain,
            level=level,
            split=split,
            problem=drawn.problem,
            phrasing=f"wording={'unseen' if unseen else 'seen'} "
            f"combination={'unseen' if kept else 'seen'} {drawn.wordings.name}.{number}",
            prompt=wordings[number].format(*drawn.numbers, who=names[0], things=names[1]),
            gold=gold,
            wrong=tuple(WrongAnswer(kind=kind, text=text) for text, kind in wrong.items()),
            judge=AnswerSpec(kind=AnswerKind.NUMBER, expected=gold),
        )


def _write(value: int, cents: bool) -> str:
    if not cents:
        return str(value)
    return f"{value // _CENTS}.{value % _CENTS:02d}"


def _draw(level: int, generator: Random) -> _Sum:
    match level:
        case 1:
            return _add(generator)
        case 2:
            return generator.choice((_subtract, _subtract, _largest))(generator)
        case 3:
            return generator.choice((_multiply, _price))(generator)
        case 4:
            return _two_steps(generator, LINKS)
        case 5:
            return _two_steps(generator, STORIES)
        case _:
            return generator.choice((_three_steps, _left_over))(generator)


def _add(generator: Random) -> _Sum:
    a, b = sorted((generator.randint(2, 79), generator.randint(2, 79)))
    order = (a, b) if generator.random() < 0.5 else (b, a)
    return _Sum(
        problem=f"{b} + {a}",
        parts=("add",),
        wordings=WORDINGS["add"],
        numbers=order,
        value=a + b,
        wrong=(("other_operation", abs(a - b)), ("missing_last_step", order[0])),
    )


def _subtract(generator: Random) -> _Sum:
    b = generator.randint(2, 79)
    a = b + generator.randint(1, 79)
    return _Sum(
        problem=f"{a} - {b}",
        parts=("subtract",),
        wordings=WORDINGS["subtract"],
        numbers=(a, b),
        value=a - b,
        wrong=(("swapped_operands", b - a), ("missing_last_step", a)),
    )


def _largest(generator: Random) -> _Sum:
    numbers = generator.sample(range(1, 100), 3)
    low, middle, high = sorted(numbers)
    return _Sum(
        problem=f"largest {low} {middle} {high}",
        parts=("largest",),
        wordings=WORDINGS["largest"],
        numbers=tuple(numbers),
        value=high,
        wrong=(("smallest", low), ("middle", middle)),
    )


def _multiply(generator: Random) -> _Sum:
    a, b = sorted((generator.randint(2, 12), generator.randint(3, 99)))
    return _Sum(
        problem=f"{a} * {b}",
        parts=("multiply",),
        wordings=WORDINGS["multiply"],
        numbers=(a, b),
        value=a * b,
        wrong=(("other_operation", a + b), ("one_short", (a - 1) * b)),
    )


def _price(generator: Random) -> _Sum:
    count = generator.randint(2, 9)
    cents = generator.randint(1, 9) * _CENTS + generator.choice(range(5, 100, 5))
    return _Sum(
        problem=f"{count} at {_write(cents, True)}",
        parts=("price",),
        wordings=WORDINGS["price"],
        numbers=(count, _write(cents, True)),
        value=count * cents,
        wrong=(("one_short", (count - 1) * cents), ("missing_last_step", cents)),
        cents=True,
    )


def _apply(operation: str, left: int, right: int) -> int:
    return {"add": left + right, "subtract": left - right, "multiply": left * right}[operation]


_SIGN = {"add": "+", "subtract": "-", "multiply": "*"}
_PAIRS = tuple(
    (first, second)
    for first in ("add", "subtract", "multiply")
    for second in ("add", "subtract", "multiply")
    if (first, second) != ("multiply", "multiply")
)


def _steps(generator: Random, operations: Sequence[str]) -> tuple[list[int], list[int]]:
    """Draw the numbers of a chain of operations; its values stay between 1 and 999."""
    while True:
        numbers = [generator.randint(3, 60)]
        values = [numbers[0]]
        for operation in operations:
            top = 9 if operation == "multiply" else 50
            numbers.append(generator.randint(2, top))
            values.append(_apply(operation, values[-1], numbers[-1]))
        if all(0 < value < 1000 for value in values):
            return numbers, values


def _canonical(numbers: Sequence[int], operations: Sequence[str]) -> str:
    """Write the problem so that numbers which may be swapped stand in one order."""
    ordered: list[int] = [numbers[0]]
    rest = list(numbers[1:])
    for operation, run in groupby(operations):
        size = len(list(run))
        swappable, rest = rest[:size], rest[size:]
        if len(ordered) == 1 and operation != "subtract":
            swappable.append(ordered.pop())
        ordered += sorted(swappable)
    text = str(ordered[0])
    for number, operation in zip(ordered[1:], operations, strict=True):
        text = f"({text} {_SIGN[operation]} {number})"
    return text[1:-1]


def _two_steps(generator: Random, table: dict[tuple[str, ...], Wordings]) -> _Sum:
    operations: tuple[str, ...] = generator.choice(_PAIRS)
    numbers, values = _steps(generator, operations)
    swapped = _apply(operations[0], _apply(operations[1], numbers[0], numbers[2]), numbers[1])
    return _Sum(
        problem=_canonical(numbers, operations),
        parts=operations,
        wordings=table[operations],
        numbers=tuple(numbers),
        value=values[-1],
        wrong=(("missing_last_step", values[1]), ("swapped_operands", max(swapped, 0))),
    )


def _three_steps(generator: Random) -> _Sum:
    operations = tuple(generator.choice(("add", "subtract", "multiply")) for _ in range(3))
    numbers, values = _steps(generator, operations)
    words = [LINKS[operation,] for operation in operations]
    return _Sum(
        problem=_canonical(numbers, operations),
        parts=operations,
        wordings=Wordings(
            name="three_steps",
            seen=_joined("Start with {0}, ", [w.seen[0] for w in words], ". What is the result?"),
            unseen=_joined("Begin at {0}; ", [w.unseen[0] for w in words], ". What do you reach?"),
        ),
        numbers=tuple(numbers),
        value=values[-1],
        wrong=(("missing_last_step", values[-2]), ("two_steps_missing", values[-3])),
    )


def _joined(start: str, steps: Sequence[str], end: str) -> tuple[str, ...]:
    numbered = [step.replace("{0}", f"{{{n}}}") for n, step in enumerate(steps, start=1)]
    return (start + ", then ".join(numbered) + end,)


def _left_over(generator: Random) -> _Sum:
    a, b = generator.randint(5, 60), generator.randint(5, 60)
    share = generator.randint(3, 9)
    return _Sum(
        problem=f"({max(a, b)} + {min(a, b)}) mod {share}",
        parts=("add", "left_over"),
        wordings=WORDINGS["left_over"],
        numbers=(a, b, share),
        value=(a + b) % share,
        wrong=(("quotient", (a + b) // share), ("missing_last_step", a + b)),
    )
