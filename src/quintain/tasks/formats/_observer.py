"""Runs inside a sandbox: calls a published solution and writes down what each call gave.

Laid into the sandbox as ``main.py``. What it writes is read outside as text of others. It makes the
calls it is given, or, given the published test, the calls that the test makes.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import types
from collections.abc import Callable
from typing import Any


def main() -> None:
    """Make every call, and write one line each: value, raised, refused or outside."""
    wire = importlib.import_module("quintain_wire")
    with open("calls.json", encoding="utf-8") as file:  # noqa: PTH123
        calls = json.load(file)
    sys.set_int_max_str_digits(0)
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    _run(calls["source"], module)
    function = module.__dict__[calls["entry"]]
    with open("observed.jsonl", "w", encoding="ascii") as out:  # noqa: PTH123

        def write(observed: dict[str, str]) -> None:
            out.write(json.dumps(observed) + "\n")
            out.flush()

        if calls["test"]:
            _record(wire, module, calls["entry"], calls["test"], write)
        for text in calls["args"]:
            write(_observe(wire, function, module.__dict__.get("quintain_contract"), text))
        write({"end": "end"})
    os._exit(0)


def _run(source: str, module: types.ModuleType) -> None:
    exec(compile(source, "solution.py", "exec"), module.__dict__)  # noqa: S102  in its sandbox


def _observe(wire: Any, function: Any, contract: Any, text: str) -> dict[str, str]:
    if contract is not None:
        try:
            contract(*wire.decode(text))
        except BaseException as error:  # noqa: BLE001
            return {"outside": type(error).__name__}
    try:
        return {"value": wire.encode(function(*wire.decode(text)))}
    except wire.WireError as error:
        return {"refused": str(error)[:200]}
    except BaseException as error:  # noqa: BLE001
        return {"raised": type(error).__name__}


def _record(
    wire: Any,
    module: types.ModuleType,
    entry: str,
    test: str,
    write: Callable[[dict[str, str]], None],
) -> None:
    """Run the published test on the solution, writing down the calls that it makes itself."""
    function, inside = module.__dict__[entry], [False]

    def recorder(*arguments: object, **named: object) -> object:
        if inside[0]:  # The solution calls itself.
            return function(*arguments, **named)
        try:
            before = wire.encode(arguments)
        except wire.WireError as error:
            write({"args": "", "refused": str(error)[:200]})
            return function(*arguments, **named)
        inside[0] = True
        try:
            value = function(*arguments, **named)
        except BaseException as error:
            write({"args": before, "raised": type(error).__name__})
            raise
        finally:
            inside[0] = False
        try:
            write({"args": before, "refused": "keywords"} if named else
                  {"args": before, "value": wire.encode(value)})  # fmt: skip
        except wire.WireError as error:
            write({"args": before, "refused": str(error)[:200]})
        return value

    random.seed(0)  # Some tests draw their arguments.
    module.__dict__[entry] = recorder
    _run(test, module)
    if f"\ncheck({entry})" not in test and "check" in module.__dict__:
        module.__dict__["check"](recorder)


if __name__ == "__main__":
    main()
