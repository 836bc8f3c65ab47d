"""HumanEval+ and MBPP+ as EvalPlus publishes them: inputs are listed, expected values are not.

JSON has no tuples, sets or complex numbers, so MBPP+ lists its inputs with lists and texts instead.
Which types were meant is read from a row's own assertions, which write the base inputs as Python.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from quintain.errors import UserError
from quintain.tasks.formats._files import as_row, check_name
from quintain.tasks.formats._observe import with_contract
from quintain.tasks.formats._parse import parse
from quintain.tasks.formats._settle import CodeDraft, LeftOut, encode_args

__all__ = ["humaneval_plus", "mbpp_plus"]

_ROOT = "the answer is any root of a polynomial: needs a checker"
_SET = "the order of the answer does not matter: needs comparison as sets"
_NOT_NONE = "only whether the answer is None counts: needs a checker"
_ANY = "several answers are accepted: needs alternatives to a value"
_SPECIAL = {
    "HumanEval/32": _ROOT,
    "Mbpp/2": _SET,
    "Mbpp/7": _SET,
    "Mbpp/111": _SET,
    "Mbpp/140": _SET,
    "Mbpp/232": _SET,
    "Mbpp/249": _SET,
    "Mbpp/579": _SET,
    "Mbpp/769": _SET,
    "Mbpp/164": _ANY,
    "Mbpp/295": _ANY,
    "Mbpp/558": _ANY,
    "Mbpp/581": _ANY,
}
"""Rows that their publisher judges by something other than the equality of values."""
_SPECIAL_ENTRIES = {
    "check_str": _NOT_NONE,
    "text_match_three": _NOT_NONE,
    "text_starta_endb": _NOT_NONE,
}


class _Row(msgspec.Struct):
    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    base_input: list[list[object]]
    plus_input: list[list[object]] | dict[str, object]
    """An empty object where there are none."""
    atol: float
    contract: str = ""
    assertion: str = ""


def humaneval_plus(row: dict[str, object], where: str) -> CodeDraft | LeftOut:
    """Read a row of HumanEval+: the prompt is the beginning of the module."""
    read = _read(row, where)
    if read.task_id in _SPECIAL:
        return LeftOut(source=read.task_id, reason=_SPECIAL[read.task_id])
    return _draft(
        read,
        where,
        family="humaneval_plus",
        gold=read.prompt + read.canonical_solution,
        stub=read.prompt,
        prompt=f"Complete this Python module and answer with all of it.\n\n{read.prompt}",
        inputs=_inputs(read),
    )


def mbpp_plus(row: dict[str, object], where: str) -> CodeDraft | LeftOut:
    """Read a row of MBPP+: the prompt tells in words what the function is for."""
    read = _read(row, where)
    if reason := _SPECIAL.get(read.task_id) or _SPECIAL_ENTRIES.get(read.entry_point):
        return LeftOut(source=read.task_id, reason=reason)
    inputs = _inputs(read)
    try:
        if not all(isinstance(value, int | float) for one in inputs for value in one):
            shapes = _shapes(read, where)
            inputs = [
                [_meant(value, shape, 0) for value, shape in zip(one, shapes, strict=True)]
                for one in inputs
            ]
    except _UnclearError as error:
        return LeftOut(source=read.task_id, reason=str(error))
    except ValueError:
        return LeftOut(source=read.task_id, reason="the types of its inputs cannot be told")
    return _draft(
        read,
        where,
        family="mbpp_plus",
        gold=read.canonical_solution.strip("\n") + "\n",
        stub=f"def {read.entry_point}(*arguments):",
        prompt="Write the Python module that this text describes; the function is "
        f"`{read.entry_point}`.\n\n{read.prompt}",
        inputs=inputs,
    )


def _read(row: dict[str, object], where: str) -> _Row:
    read = as_row(row, _Row, where)
    check_name(read.task_id, where, "task_id")
    if not read.entry_point.isidentifier():
        raise UserError(f"{where}: {read.entry_point[:60]!r} is no name - at `$.entry_point`")
    if not 0 <= read.atol < float("inf"):
        raise UserError(f"{where}: tolerance {read.atol} - at `$.atol`")
    if not read.base_input:
        raise UserError(f"{where}: no cases - at `$.base_input`")
    if isinstance(read.plus_input, dict) and read.plus_input:
        raise UserError(f"{where}: Expected `array`, got `object` - at `$.plus_input`")
    return read


def _inputs(read: _Row) -> list[list[object]]:
    plus = read.plus_input if isinstance(read.plus_input, list) else []
    return [*read.base_input, *plus]


def _draft(
    read: _Row,
    where: str,
    *,
    family: str,
    gold: str,
    stub: str,
    prompt: str,
    inputs: Sequence[Sequence[object]],
) -> CodeDraft | LeftOut:
    num_base = len(read.base_input)
    try:
        with_contract(gold, read.entry_point, read.contract)
    except ValueError as error:
        raise UserError(f"{where}: {error} - at `$.contract`") from error
    return CodeDraft(
        source=read.task_id,
        family=family,
        entry=read.entry_point,
        prompt=prompt,
        problem=f"{read.task_id}\n{read.prompt.strip()}",
        gold=gold,
        stub=stub,
        args=tuple(
            encode_args(one, where, "base_input" if number < num_base else "plus_input")
            for number, one in enumerate(inputs)
        ),
        contract=read.contract,
        tolerance=float(read.atol),
    )


class _UnclearError(Exception):
    """The assertions do not tell which types are meant."""


@dataclass(slots=True)
class _Shape:
    """What the assertions show of one argument: by depth, which containers; and which scalars."""

    containers: dict[int, set[type]] = field(default_factory=dict)
    scalars: set[type] = field(default_factory=set)
    at_will: bool = False
    """Containers stand beside scalars, so nesting may go deeper than the assertions do."""


def _shapes(read: _Row, where: str) -> list[_Shape]:
    shapes = [_Shape() for _ in read.base_input[0]]
    calls = _asserted(read, where)
    if len(calls) != len(read.base_input):
        raise _UnclearError("its assertions are not calls of its inputs")
    for call, listed in zip(calls, read.base_input, strict=True):
        if len(call) != len(listed) or len(call) != len(shapes):
            raise _UnclearError("its assertions are not calls of its inputs")
        for value, shape in zip(call, shapes, strict=True):
            _learn(value, shape, 0)
    return shapes


def _asserted(read: _Row, where: str) -> list[list[object]]:
    """Return the arguments of each asserted call, in order."""
    try:
        statements = parse(read.assertion).body
    except ValueError as error:
        raise UserError(f"{where}: {error} - at `$.assertion`") from error
    found: list[list[object]] = []
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == read.entry_point:
                found.append([_literal(arg) for arg in node.args])
                break
    return found


def _literal(node: ast.expr) -> object:
    """Evaluate a literal, also ``complex(0, 1)`` and arithmetic signs; nothing is executed."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"complex", "float", "set"}:
        inner = [ast.literal_eval(arg) for arg in node.args]
        return {"complex": complex, "float": float, "set": set}[node.func.id](*inner)  # type: ignore[attr-defined]  # a Name
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError) as error:
        raise _UnclearError("its assertions hold more than literals") from error


def _learn(value: object, shape: _Shape, depth: int) -> None:
    if isinstance(value, list | tuple | set | dict):
        shape.containers.setdefault(depth, set()).add(type(value))
        members = value.values() if isinstance(value, dict) else value
        nested = [isinstance(member, list | tuple) for member in members]
        shape.at_will |= any(nested) and not all(nested)
        for member in members:
            _learn(member, shape, depth + 1)
    else:
        shape.scalars.add(type(value))


def _meant(value: object, shape: _Shape, depth: int) -> object:
    """Give a listed value the types that the assertions show at its depth."""
    if isinstance(value, dict):
        return {key: _meant(member, shape, depth + 1) for key, member in value.items()}
    if isinstance(value, str) and depth == 0 and shape.scalars <= {int, float, complex}:
        return _number(value)
    if not isinstance(value, list):
        return value
    deepest = max(shape.containers, default=0)
    kinds = shape.containers.get(min(depth, deepest) if shape.at_will else depth, {list})
    members = [_meant(member, shape, depth + 1) for member in value]
    if not value and {dict, set} <= kinds:
        return {}
    kinds = kinds - {dict} or {list}
    if len(kinds) != 1:
        raise _UnclearError("its assertions mix lists and tuples")
    (kind,) = kinds
    if kind is set and not all(isinstance(member, int | str | float) for member in members):
        raise _UnclearError("its assertions mix lists and tuples")
    return kind(members)


def _number(text: str) -> float | complex | str:
    """Read a number that JSON could only hold as text; any other text stays one."""
    for kind in (float, complex):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
