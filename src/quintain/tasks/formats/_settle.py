"""From a published program and its calls to a task judged by cases; pure.

Invariant: every known-wrong answer of a task differs from the gold one in the value of at least one
case, and a task that today's judges cannot judge rightly is left out with the reason.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from quintain.errors import UserError
from quintain.judge import wire
from quintain.tasks.formats._observe import Observation, Observations
from quintain.tasks.formats._parse import parse
from quintain.types import Case, CasesSpec, Limits, Split, Task, WrongAnswer

__all__ = ["CodeDraft", "LeftOut", "Settled", "encode_args", "settle"]

VERSION = "1"
"""Changes whenever the same rows give other tasks."""

_NEAR = 1e-6
"""Published tests compare floats about so closely."""
_LONGEST_CONSTANT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A row that did not become a task."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A row that became a task."""

    task: Task
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Cases of the source that the task lacks: reason to number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeDraft:
    """A programming task whose expected values are not known yet."""

    source: str
    """The source's id."""
    family: str
    entry: str
    prompt: str
    problem: str
    gold: str
    stub: str
    """The gold answer's beginning, so that a body may follow: for wrong answers."""
    args: tuple[str, ...] = ()
    """Wire texts of the arguments of each call; empty when the test makes the calls."""
    test: str = ""
    contract: str = ""
    tolerance: float = 0.0
    listed: tuple[object, ...] | None = None
    """What the source says that each call returns, as far as JSON can say it."""
    wrong: tuple[WrongAnswer, ...] = ()
    phrasing: str = "as_published"


def encode_args(args: Sequence[object], where: str, field_name: str) -> str:
    """Return the wire text of the arguments of a call; raises `UserError` naming the field."""
    try:
        return wire.encode(tuple(args))
    except wire.WireError as error:
        raise UserError(f"{where}: {error} - at `$.{field_name}`") from error


def settle(draft: CodeDraft, seen: Observations, split: Split) -> Settled | LeftOut:
    """Make the task of a draft, given what its gold answer returned."""
    if seen.fault:
        return LeftOut(source=draft.source, reason=f"its own solution fails: {seen.fault}")
    cases: list[Case] = []
    cpu_s = seen.cpu_s
    dropped: Counter[str] = Counter()
    shown = _shown(draft.prompt, draft.entry)
    for number, call in enumerate(seen.calls):
        if reason := _unusable(draft, number, call):
            dropped[reason] += 1
            cpu_s -= call.cpu_s  # A submission will not have to make this call.
            continue
        args = call.args or draft.args[number]
        cases.append(Case(args=args, expected=call.value or "", visible=args in shown))
    if not cases:
        reason = dropped.most_common(1)[0][0] if dropped else "it has no cases"
        return LeftOut(source=draft.source, reason=reason)
    task = Task(
        family=draft.family,
        family_version=VERSION,
        domain="code",
        level=1,
        split=split,
        problem=draft.problem,
        phrasing=draft.phrasing,
        prompt=draft.prompt,
        gold=draft.gold,
        wrong=(*draft.wrong, *_wrong(draft, cases)),
        judge=CasesSpec(
            entry=draft.entry, cases=tuple(cases), tolerance=_tolerance(draft.tolerance, cases)
        ),
        limits=_limits(cpu_s, cases),
    )
    return Settled(task=task, dropped=dict(dropped))


def _unusable(draft: CodeDraft, number: int, call: Observation) -> str:
    if call.outside is not None:
        return "arguments outside the declared contract"
    if call.raised is not None:
        return "the solution raises"
    if call.value is None:
        return call.refused or "no value"
    if draft.listed is not None and not _agree(wire.decode(call.value), draft.listed[number]):
        return "the solution does not return the listed value"
    return ""


def _agree(value: object, listed: object) -> bool:
    """Compare a value with what JSON can say of it: tuples are lists, 2.0 is 2."""
    if isinstance(value, list | tuple) and isinstance(listed, list):
        pairs = zip(value, listed, strict=False)
        return len(value) == len(listed) and all(_agree(a, b) for a, b in pairs)
    if isinstance(value, bool) or isinstance(listed, bool):
        return value is listed
    if isinstance(value, int | float) and isinstance(listed, int | float):
        return value == listed or abs(value - listed) <= _NEAR * max(1, abs(listed))
    return value == listed


def _tolerance(declared: float, cases: Sequence[Case]) -> float:
    floats = any('{"float"' in case.expected for case in cases)
    return max(declared, _NEAR) if floats else declared


def _limits(cpu_s: float, cases: Sequence[Case]) -> Limits:
    """Give a submission many times what the gold answer took, in a few coarse steps."""
    allowed = 3.0
    while allowed < 5 * cpu_s:
        allowed *= 2
    claims = sum(len(case.expected) for case in cases) + 60 * len(cases)
    return Limits(
        cpu_s=allowed,
        wall_s=max(10.0, 3 * allowed),
        memory_mib=1024,
        output_kib=max(1024, 2 * claims // 1024 + 512),
    )


def _shown(prompt: str, entry: str) -> frozenset[str]:
    """Return the wire texts of arguments of calls with literal arguments in a prompt."""
    found = set()
    for line in prompt.splitlines():
        bare = line.strip().removeprefix(">>>").strip()
        if f"{entry}(" not in bare:
            continue
        try:
            tree = parse(bare)
        except ValueError:
            continue
        found |= set(_literal_calls(tree, entry))
    return frozenset(found)


def _literal_calls(tree: ast.AST, entry: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == entry:
            try:
                yield wire.encode(tuple(ast.literal_eval(arg) for arg in node.args))
            except (ValueError, TypeError, RecursionError):
                continue


def _wrong(draft: CodeDraft, cases: Sequence[Case]) -> Iterator[WrongAnswer]:
    if any(case.expected != "null" for case in cases):
        yield WrongAnswer(kind="stub", text=f"{draft.stub}\n    pass\n")
    for constant in _constants(cases):
        body = f"def {draft.entry}(*arguments):\n    return {constant}\n"
        yield WrongAnswer(kind="constant", text=body)
    if any(case.expected != _first(case.args) for case in cases):
        body = f"def {draft.entry}(*arguments):\n    return arguments[0] if arguments else None\n"
        yield WrongAnswer(kind="echo", text=body)


def _constants(cases: Sequence[Case]) -> Iterator[str]:
    """Yield the commonest expected value that is short, when it is not the only one."""
    counted = Counter(case.expected for case in cases)
    if len(counted) == 1:
        yield "1" if next(iter(counted)) != "1" else "2"
        return
    for text, _ in counted.most_common():
        constant = repr(wire.decode(text))
        if len(constant) <= _LONGEST_CONSTANT and _is_literal(constant):
            yield constant
            return


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):  # inf and nan have no literals
        return False
    return True


def _first(args: str) -> str:
    decoded = wire.decode(args)
    return wire.encode(decoded[0]) if isinstance(decoded, tuple) and decoded else "null"
