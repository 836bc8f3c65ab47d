"""The command line: one executable, a module a verb.

stdout carries data, stderr talk. Exit codes: 0 done, 1 the answer is no, 2 bad input or a missing
capability, 3 infrastructure fault or our bug, 130 interrupted. Strings become objects here and
nowhere deeper.
"""

from quintain.cli._main import main

__all__ = ["main"]
