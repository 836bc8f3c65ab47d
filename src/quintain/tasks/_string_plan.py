"""Compositions of string operations: their code, their meaning, their words, their neighbours.

Invariant: a plan's ``code`` and ``run`` agree, and its ``problem`` depends neither on its wording
nor on the order of operations that may be swapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from random import Random

from quintain.tasks._family import reserved
from quintain.tasks._string_ops import OPS, Arg, Op

__all__ = [
    "Neighbour",
    "Plan",
    "Run",
    "Step",
    "Words",
    "chain",
    "conditional",
    "draw_step",
    "legal",
]

Run = Callable[[str], object]

# Every letter, digit and separator occurs, so that swapped orders show.
_PROBES = (
    "The quick brown fox jumps over the lazy dog 0123456789",
    "  sphinx of Black-quartz, judge_my VOW 98/76:54;32.10  ",
    "zyxwvu tsrqpo NMLKJI hgf.edc b*a+1#2",
    "Aaa bBb ccC 112233 zz yy xx -- __",
    "mad hatter Jigsaw kept 5 exquisite boxes in Cozy 7-lofts v",
)
_SEEN_LINKS = {
    1: ("{0}",),
    2: ("{0}, then {1}", "{0} and then {1}"),
    3: ("{0}, then {1}, then {2}", "{0} and then {1} and then {2}"),
}
_UNSEEN_LINKS = {
    1: ("{0}",),
    2: ("first {0}; after that {1}",),
    3: ("first {0}; next {1}; finally {2}",),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One operation with its arguments."""

    op: Op
    args: tuple[Arg, ...] = ()

    def run(self, s: object) -> object:
        """Apply the operation."""
        return self.op.apply(s, *self.args)

    def code(self, inner: str, tight: bool) -> str:
        """Write the operation around the code of what comes before."""
        if not tight and "({x})" not in self.op.code:
            inner = f"({inner})"
        return self.op.code.format(x=inner, **self._named(), i=self._less_one())

    def words(self, wording: str, subject: str) -> str:
        """Say the operation in a wording."""
        return wording.format(x=subject, **self._named(), nth=self._ordinal())

    @property
    def text(self) -> str:
        """Canonical text."""
        return f"{self.op.name}({', '.join(map(repr, self.args))})"

    def _named(self) -> dict[str, str]:
        return {name: repr(value) for name, value in zip("ab", self.args, strict=False)}

    def _less_one(self) -> str:
        return str(self.args[0] - 1) if self.args and isinstance(self.args[0], int) else ""

    def _ordinal(self) -> str:
        number = self.args[0] if self.args else 0
        return {2: "2nd", 3: "3rd"}.get(number, f"{number}th") if isinstance(number, int) else ""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A plan that is close to another and usually wrong in its place."""

    kind: str
    code: str
    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a string expression computes."""

    code: str
    run: Run
    problem: str
    parts: tuple[str, ...]
    """Names of the operations, for reserving combinations."""
    needles: tuple[str, ...]
    """Characters that the arguments mention."""
    padded: bool
    """Blanks at the ends matter."""
    neighbours: tuple[Neighbour, ...]
    needed: tuple[Run, ...]
    """What is computed without one of the steps; must differ, or the step is idle."""
    say: Callable[[Words], str]

    @property
    def reserved(self) -> bool:
        """Two of its operations are combined for the held-out side alone."""
        return any(reserved(*pair) for pair in combinations(self.parts, 2))


class Words:
    """Chooses wordings, seen or unseen ones, and remembers which."""

    def __init__(self, generator: Random, unseen: bool) -> None:
        self._generator = generator
        self.unseen = unseen
        self.chosen: list[str] = []

    def pick(self, name: str, seen: Sequence[str], unseen: Sequence[str]) -> str:
        """Choose one wording of a name."""
        wordings = unseen if self.unseen else seen
        number = self._generator.randrange(len(wordings))
        self.chosen.append(f"{name}.{number}")
        return wordings[number]

    def step(self, step: Step, subject: str) -> str:
        """Say a step."""
        return step.words(self.pick(step.op.name, step.op.seen, step.op.unseen), subject)


def draw_step(generator: Random, ops: Sequence[Op]) -> Step:
    """Draw an operation and its arguments; those with many arguments come more often."""
    weights = [min(op.variants, 64) ** 0.5 for op in ops]
    op = generator.choices(ops, weights)[0]
    args = tuple(generator.choice(values) for values in op.choices)
    # Replacing a character by itself, or the same on both sides, would be another problem.
    while len(args) == 2 and args[0] == args[1]:
        args = (args[0], generator.choice(op.choices[1]))
    return Step(op, args)


def _compose(steps: Sequence[Step]) -> Run:
    def run(s: str) -> object:
        value: object = s
        for step in steps:
            value = step.run(value)
        return value

    return run


def _code(steps: Sequence[Step]) -> str:
    code, tight = "s", True
    for step in steps:
        code, tight = step.code(code, tight), step.op.tight
    return code


def legal(steps: Sequence[Step]) -> bool:
    """Tell whether the steps can follow each other without undoing one another."""
    groups = {step.op.group for step in steps}
    return (
        len(groups) == len(steps)
        and all(step.op.text for step in steps[:-1])
        and not any(step.op.once for step in steps[1:])
    )


def chain(steps: tuple[Step, ...], generator: Random) -> Plan:
    """Make a plan of steps that follow each other."""

    def say(words: Words) -> str:
        count = len(steps)
        link = words.pick(f"link{count}", _SEEN_LINKS[count], _UNSEEN_LINKS[count])
        return link.format(
            *[words.step(step, "it" if number else "s") for number, step in enumerate(steps)]
        )

    needed = tuple(_compose(steps[:number] + steps[number + 1 :]) for number in range(len(steps)))
    return Plan(
        code=_code(steps),
        run=_compose(steps),
        problem=_canonical(steps),
        parts=tuple(step.op.name for step in steps),
        needles=_needles(steps),
        padded=any(step.op.name == "strip" for step in steps),
        neighbours=_neighbours(steps, generator),
        needed=needed,
        say=say,
    )


def _needles(steps: Sequence[Step]) -> tuple[str, ...]:
    return tuple(c for step in steps for arg in step.args if isinstance(arg, str) for c in arg)


def _outputs(steps: Sequence[Step]) -> list[object]:
    run, outputs = _compose(steps), list[object]()
    for probe in _PROBES:
        try:
            outputs.append(run(probe))
        except (IndexError, ValueError):
            outputs.append(None)
    return outputs


def _canonical(steps: tuple[Step, ...]) -> str:
    """Text of the first order of the steps, alphabetically, that computes the same."""
    best = " > ".join(step.text for step in steps)
    if len(steps) == 1:
        return best
    wanted = _outputs(steps)
    free, last = (steps, ()) if steps[-1].op.text else (steps[:-1], steps[-1:])
    for order in permutations(free):
        text = " > ".join(step.text for step in order + last)
        if text < best and _outputs(order + last) == wanted:
            best = text
    return best


def _neighbours(steps: tuple[Step, ...], generator: Random) -> tuple[Neighbour, ...]:
    found = []
    number = generator.randrange(len(steps))
    kind, step = _neighbour_of(steps[number], generator)
    found.append((kind, (*steps[:number], step, *steps[number + 1 :])))
    if len(steps) > 1:
        found.append(("missing_last_step", steps[:-1]))
        swapped = (*steps[:-2], steps[-1], steps[-2])
        if legal(swapped):
            found.append(("swapped_order", swapped))
    return tuple(Neighbour(kind, _code(other), _compose(other)) for kind, other in found)


def _neighbour_of(step: Step, generator: Random) -> tuple[str, Step]:
    if not step.args:
        others = [op for op in OPS if not op.choices and op.text == step.op.text]
        others = [op for op in others if op.name != step.op.name]
        return "neighbouring_operation", Step(generator.choice(others))
    number = generator.randrange(len(step.args))
    old = step.args[number]
    if isinstance(old, int):
        new: Arg = old + generator.choice((-1, 1))
        return "off_by_one", Step(step.op, (*step.args[:number], new, *step.args[number + 1 :]))
    new = generator.choice([value for value in step.op.choices[number] if value != old])
    return "other_argument", Step(step.op, (*step.args[:number], new, *step.args[number + 1 :]))


def conditional(condition: Arg, yes: Step, no: Step, generator: Random) -> Plan:
    """Make a plan that does one step or another: if s contains a character, or is long enough."""
    if isinstance(condition, str):
        name, test = "contains", f"{condition!r} in s"
        seen = ("if s contains {a}, {p}, otherwise {q}", "if {a} is in s, {p}, else {q}")
        unseen = ("{p} when there is any {a} in s; when not, {q}",)
    else:
        name, test = "longer", f"len(s) > {condition}"
        seen = (
            "if s is longer than {a} characters, {p}, otherwise {q}",
            "if the length of s is more than {a}, {p}, else {q}",
        )
        unseen = ("{p} when s has over {a} characters; when not, {q}",)

    def holds(s: str) -> bool:
        return len(s) > condition if isinstance(condition, int) else condition in s

    def branches(first: Step, second: Step) -> tuple[str, Run]:
        code = f"{_code([first])} if {test} else {_code([second])}"
        return code, lambda s: first.run(s) if holds(s) else second.run(s)

    def say(words: Words) -> str:
        link = words.pick(f"if_{name}", seen, unseen)
        return link.format(a=repr(condition), p=words.step(yes, "s"), q=words.step(no, "s"))

    code, run = branches(yes, no)
    kind, other = _neighbour_of(yes, generator)
    neighbours = (
        Neighbour("swapped_branches", *branches(no, yes)),
        Neighbour(kind, *branches(other, no)),
        Neighbour("one_branch_only", _code([yes]), yes.run),
    )
    return Plan(
        code=code,
        run=run,
        problem=f"if {test}: {yes.text} else: {no.text}",
        parts=(yes.op.name, no.op.name, f"if_{name}"),
        needles=(condition if isinstance(condition, str) else "", *_needles((yes, no))),
        padded=False,
        neighbours=neighbours,
        needed=(yes.run, no.run),
        say=say,
    )
