"""Family `string_expression`: a line of English to one Python expression over ``s``.

Levels: 1 one operation, 2 one with two arguments, 3 two operations, 4 two with arguments, 5 three
operations, 6 a condition or an operation over words and sets of letters.

Invariant: on the cases of a task the gold answer returns at least two different values, every step
of it matters, and every known-wrong answer returns something else at least once.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from quintain.errors import TaskError
from quintain.ids import rng
from quintain.judge.wire import WireError, encode
from quintain.tasks._family import check_level, split_of
from quintain.tasks._string_aggregates import AGGREGATES
from quintain.tasks._string_ops import CHARS, OPS
from quintain.tasks._string_plan import (
    Plan,
    Run,
    Step,
    Words,
    chain,
    conditional,
    draw_step,
    legal,
)
from quintain.types import Case, CasesSpec, Limits, Split, Task, WrongAnswer

__all__ = ["WORKED", "StringExpression"]

WORKED = ("append('!')", "count_words()", "last(3)")
"""Problems of the worked examples in prompts: on neither split."""

_CASES = 5
_SIMPLE = tuple(op for op in OPS if len(op.choices) <= 1)
_BARE = tuple(op for op in OPS if not op.choices)
_RICH = tuple(op for op in OPS if len(op.choices) == 2)
_TAKING = tuple(op for op in OPS if op.choices)
_LIMITS = Limits(cpu_s=2.0, wall_s=10.0, memory_mib=256, processes=16)


@dataclass(frozen=True, slots=True)
class StringExpression:
    """English to one Python expression over a string."""

    name: str = "string_expression"
    version: str = "1"
    domain: str = "code"
    levels: int = 6

    def generate(self, level: int, split: Split, index: int, seed: int) -> Task:
        """Make one task; see `Family.generate`."""
        check_level(self, level)
        generator = rng(self.name, self.version, level, split.value, index, seed)
        held_out = split is Split.HELD_OUT
        # Half of the held-out tasks use wordings, and half combinations, that training never had.
        unseen = held_out and generator.random() < 0.5
        wants_reserved = held_out and generator.random() < 0.5
        for attempt in range(10_000):
            plan = _draw(level, generator)
            if plan is None or plan.problem in WORKED:
                continue
            if split_of(self.name, plan.problem) is not split:
                continue
            # A level of single operations has no combinations; after a while take what comes.
            if not held_out and plan.reserved:
                continue
            if wants_reserved and not plan.reserved and level > 2 and attempt < 500:
                continue
            strings = _strings(plan, generator)
            if strings is not None:
                return self._task(level, split, plan, strings, Words(generator, unseen))
        raise TaskError(f"family {self.name} level {level} has no {split.value} problem")

    def _task(
        self, level: int, split: Split, plan: Plan, strings: Sequence[str], words: Words
    ) -> Task:
        prompt = plan.say(words)
        wording = "unseen" if words.unseen else "seen"
        combination = "unseen" if plan.reserved else "seen"
        expected = [encode(plan.run(s)) for s in strings]
        cases = tuple(
            Case(args=encode((s,)), expected=value)
            for s, value in zip(strings, expected, strict=True)
        )
        return Task(
            family=self.name,
            family_version=self.version,
            domain=self.domain,
            level=level,
            split=split,
            problem=plan.problem,
            phrasing=f"wording={wording} combination={combination} {'+'.join(words.chosen)}",
            prompt=prompt,
            gold=plan.code,
            wrong=_wrong(plan, strings, expected),
            judge=CasesSpec(entry="answer", cases=cases, expression=True, parameters=("s",)),
            limits=_LIMITS,
        )


def _draw(level: int, generator: Random) -> Plan | None:
    """Draw a composition of a level; None when the draw does not fit together."""
    match level:
        case 1:
            return chain((draw_step(generator, _SIMPLE),), generator)
        case 2:
            return chain((draw_step(generator, _RICH),), generator)
        case 3:
            pools = [_BARE, _SIMPLE]
        case 4:
            pools = [_TAKING, _TAKING]
        case 5:
            pools = [_BARE, _SIMPLE, _SIMPLE]
        case _:
            return _draw_hardest(generator)
    generator.shuffle(pools)
    steps = tuple(draw_step(generator, pool) for pool in pools)
    return chain(steps, generator) if legal(steps) else None


def _draw_hardest(generator: Random) -> Plan | None:
    if generator.random() < 0.5:
        long = generator.random() < 0.5
        condition = generator.randint(14, 24) if long else generator.choice(CHARS)
        yes, no = draw_step(generator, _SIMPLE), draw_step(generator, _SIMPLE)
        alike = yes.op.text == no.op.text and yes.op.name != no.op.name
        return conditional(condition, yes, no, generator) if alike else None
    steps: tuple[Step, ...] = (draw_step(generator, AGGREGATES),)
    if generator.random() < 0.5:
        steps = (*steps, draw_step(generator, _BARE))
    return chain(steps, generator) if legal(steps) else None


def _strings(plan: Plan, generator: Random) -> list[str] | None:
    """Draw strings on which the plan can be told from its neighbours, or None."""
    for _ in range(8):
        strings = [_string(plan, generator) for _ in range(_CASES)]
        values = _values(plan.run, strings)
        if values is None or len(set(values)) < 2 or values == [encode(s) for s in strings]:
            continue
        if any(_values(shorter, strings) == values for shorter in plan.needed):
            continue
        if sum(_values(near.run, strings) != values for near in plan.neighbours) >= 1:
            return strings
    return None


def _values(run: Run, strings: Sequence[str]) -> list[str] | None:
    """Wire texts of what comes back; None when one string has no value."""
    try:
        return [encode(run(s)) for s in strings]
    except (IndexError, ValueError, TypeError, AttributeError, WireError):
        return None


def _string(plan: Plan, generator: Random) -> str:
    """Draw a string of a few words in which the plan's characters are likely to occur."""
    words = []
    for _ in range(generator.randint(2, 4)):
        word = "".join(generator.choices(string.ascii_lowercase, k=generator.randint(3, 7)))
        shape = generator.random()
        if shape < 0.2:
            word = word.upper()
        elif shape < 0.4:
            word = word.capitalize()
        elif shape < 0.55:
            word += str(generator.randint(0, 99))
        words.append(word)
    text = " ".join(words)
    for needle in plan.needles:
        for place in (0, len(text)):
            if generator.random() < 0.3:
                text = text[:place] + needle + text[place:]
        for _ in range(generator.choice((0, 1, 1, 2))):
            place = generator.randint(1, len(text) - 1)
            text = text[:place] + needle + text[place:]
    if generator.random() < (0.7 if plan.padded else 0.1):
        text = " " * generator.randint(0, 2) + text + " " * generator.randint(1, 2)
    return text


def _wrong(plan: Plan, strings: Sequence[str], expected: list[str]) -> tuple[WrongAnswer, ...]:
    first = plan.run(strings[0])
    found = [WrongAnswer(kind="identity", text="s"), WrongAnswer(kind="constant", text=repr(first))]
    found += [
        WrongAnswer(kind=near.kind, text=near.code)
        for near in plan.neighbours
        if _values(near.run, strings) != expected
    ]
    return tuple(found)
