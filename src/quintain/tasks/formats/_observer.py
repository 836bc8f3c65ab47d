"""Runs inside a sandbox: calls a published solution and writes down what each call gave.

Laid into the sandbox as ``main.py``. What it writes is read outside as text of others. It makes the
calls it is given, or, given the published test, the calls that the test makes.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import time
import types
from collections.abc import Callable
from typing import Any


class _TooLongError(BaseException):
    """A call ran out of patience."""


def _give_up(*_: object) -> None:
    raise _TooLongError


def main() -> None:
    """Make every call, and write one line each: value, raised, refused or outside."""
    wire = importlib.import_module("quintain_wire")
    with open("calls.json", encoding="utf-8") as file:  # noqa: PTH123
        calls = json.load(file)
    sys.set_int_max_str_digits(0)
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    _run(calls["source"], module)
    with open("observed.jsonl", "w", encoding="ascii") as out:  # noqa: PTH123

        def write(observed: dict[str, Any]) -> None:
            out.write(json.dumps(observed) + "\n")
            out.flush()

        if calls["test"]:
            _record(wire, module, calls["entry"], calls["test"], write)
        signal.signal(signal.SIGPROF, _give_up)
        for text in calls["args"]:
            began = time.process_time()
            observed = _observe(wire, module, calls, text)
            write({**observed, "cpu_s": time.process_time() - began})
        write({"end": "end"})
    os._exit(0)


def _run(source: str, module: types.ModuleType) -> None:
    exec(compile(source, "solution.py", "exec"), module.__dict__)  # noqa: S102  in its sandbox


def _observe(wire: Any, module: Any, calls: Any, text: str) -> dict[str, str]:
    function, contract = module.__dict__[calls["entry"]], module.__dict__.get("quintain_contract")
    patience_s = calls["patience_s"]
    if contract is not None:
        try:
            contract(*wire.decode(text))
        except BaseException as error:  # noqa: BLE001
            return {"outside": type(error).__name__}
    try:
        signal.setitimer(signal.ITIMER_PROF, patience_s)
        value = function(*wire.decode(text))
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {"value": wire.encode(value)}
    except _TooLongError:
        return {"refused": f"the call takes longer than {patience_s:g} s"}
    except wire.WireError as error:
        return {"refused": f"no plain value: {error}"[:200]}
    except BaseException as error:  # noqa: BLE001
        return {"raised": type(error).__name__}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _record(
    wire: Any,
    module: types.ModuleType,
    entry: str,
    test: str,
    write: Callable[[dict[str, Any]], None],
) -> None:
    """Run the published test on the solution, writing down the calls that it makes itself."""
    function, inside = module.__dict__[entry], [False]

    def recorder(*arguments: object, **named: object) -> object:
        if inside[0]:  # The solution calls itself.
            return function(*arguments, **named)
        try:
            before = wire.encode(arguments)
        except wire.WireError as error:
            write({"args": "", "refused": f"no plain value: {error}"[:200]})
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
            write({"args": before, "refused": "called with keywords"} if named else
                  {"args": before, "value": wire.encode(value)})  # fmt: skip
        except wire.WireError as error:
            write({"args": before, "refused": f"no plain value: {error}"[:200]})
        return value

    random.seed(0)  # Some tests draw their arguments.
    module.__dict__[entry] = recorder
    _run(test, module)
    if f"\ncheck({entry})" not in test and "check" in module.__dict__:
        module.__dict__["check"](recorder)


if __name__ == "__main__":
    main()
