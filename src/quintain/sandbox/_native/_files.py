"""Looking at a session's files from inside it, without any privilege; stdlib only.

Whatever links the program left, they are followed in its own world with its own rights: what
comes out is data that the program could have printed.
"""

from __future__ import annotations

import os
import stat

__all__ = ["serve"]


def serve(op: str, arguments: list[str]) -> None:
    """Answer on stdout and end: 0, or 3 when there is no such file and 4 for any other error."""
    try:
        if op == "read":
            _read(arguments[0])
        elif op == "list":
            _list(arguments[0])
        os._exit(0)  # "write": the files were laid before this process got here
    except (FileNotFoundError, NotADirectoryError):
        os._exit(3)
    except OSError as error:
        os.write(2, f"{error.strerror}".encode())
        os._exit(4)


def _read(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(0, "not a regular file")
    while data := os.read(fd, 1 << 16):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]


def _list(top: str) -> None:
    for folder, names, files in os.walk(top):
        for name in sorted(names + files):
            path = os.path.join(folder, name)  # noqa: PTH118  pathlib stays out of the zygote
            mark = "/" if name in names and not os.path.islink(path) else ""  # noqa: PTH114
            os.write(1, os.fsencode(os.path.relpath(path, top) + mark) + b"\0")
