"""Runs beside the candidate, in its sandbox: calls its function and sends back what it returned.

Laid into the sandbox as ``main.py``. It holds the arguments of the calls and nothing else that
matters: no expected value, no verdict. Everything it sends is a claim that the judge outside
checks, so that a candidate which tampers with it can only change its own claims.

A claim is a line of JSON on a private duplicate of stdout: ``case`` (-1 for loading), and one of
``value`` (wire text), ``raised`` (name of an exception type) or ``refused`` (why there is none).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from collections.abc import Callable


def main() -> None:
    """Load the submission, make every call, and end without waiting for what it left running."""
    sys.dont_write_bytecode = True  # Nothing here is imported twice.
    wire = importlib.import_module("quintain_wire")
    channel = os.dup(1)
    os.dup2(2, 1)  # What the candidate prints goes to stderr, and stays apart from the claims.
    write, end = os.write, os._exit
    dumps = json.dumps

    def claim(case: int, kind: str, text: str) -> None:
        line = (dumps({"case": case, kind: text}) + "\n").encode()
        while line:
            line = line[write(channel, line) :]

    calls = json.loads(_read("calls.json"))
    # Long numbers are plain values; their digits are the candidate's own time.
    sys.set_int_max_str_digits(0)
    function = _load(calls["entry"], claim)
    if function is not None:
        for case, text in enumerate(calls["args"]):
            arguments = wire.decode(text)  # Anew for each call, so that none sees another's.
            try:
                claim(case, "value", wire.encode(function(*arguments)))
            except wire.WireError as error:
                claim(case, "refused", str(error))
            except BaseException as error:  # noqa: BLE001  SystemExit fails its case, no more
                claim(case, "raised", _name(error))
    end(0)


def _load(entry: str, claim: Callable[[int, str, str], None]) -> Callable[..., object] | None:
    source = _read("submission.py")
    module = types.ModuleType("submission")
    sys.modules["submission"] = module
    try:
        exec(compile(source, "submission.py", "exec"), module.__dict__)  # noqa: S102  in its sandbox
        function = module.__dict__[entry]
    except BaseException as error:  # noqa: BLE001  whatever it is, it is the candidate's
        missing = isinstance(error, KeyError) and error.args == (entry,)
        claim(-1, "refused" if missing else "raised", entry if missing else _name(error))
        return None
    if not callable(function):
        claim(-1, "refused", entry)
        return None
    return function  # type: ignore[no-any-return]  # callable, as just checked


def _read(path: str) -> str:
    # Importing pathlib would cost more than all the rest of a short execution.
    with open(path, encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123
        return file.read()


def _name(error: BaseException) -> str:
    """Name an exception's type without asking the candidate's class."""
    return str(type.__dict__["__name__"].__get__(type(error)))[:60]


if __name__ == "__main__":
    main()
