"""A fork of a snapshot costs a tenth of copying its files, and leaves the original untouched.

A session changes 50 MB of files and is stopped as a snapshot. Forks of it, each opened until it
answers, take turns with copying the same files into a new session. Takes about a minute on two
cores; says ``not run`` with a sandbox whose sessions have no ``snapshot``.
"""

from __future__ import annotations

import argparse

from _report import CannotRun, Seen, main
from quintain.sandbox import Session


def _check(_arguments: argparse.Namespace) -> Seen:
    if not hasattr(Session, "snapshot"):
        raise CannotRun("sessions of this version cannot be kept as a snapshot")
    raise CannotRun("this script does not know yet how this version forks a snapshot")


if __name__ == "__main__":
    main(__file__, __doc__, _check)
