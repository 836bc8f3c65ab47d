"""No specification and no output crashes the launcher, and the pool answers at the end.

Hypothesis draws commands, files, variables, paths and limits at their extremes, and programs that
print any bytes and end in any way. Each is executed or refused with a `UserError`; anything else,
a `SandboxError` too, is a fault. Takes about two minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from typing import Any

import msgspec
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from _report import Seen, equal, main
from _watch import children
from quintain.errors import SandboxError, UserError
from quintain.sandbox import Pool, Program, open_pool, python_program
from quintain.types import Limits

_PLAIN = st.text(st.characters(exclude_characters="\0"), max_size=20)
_TEXT = _PLAIN | _PLAIN | st.text(st.characters(exclude_categories=()), max_size=20)
_PATHS = _TEXT | st.sampled_from(["a", "a/b", "main.py", "..", "/x", "a/../b", "a//b", "é" * 130])
_WORDS = _TEXT | st.sampled_from(["sh", "-c", "cat", "python", "main.py", "true", "kill -9 0"])
_WHOLE = [1, 2, 3, 64, 1 << 20, 1 << 31]
_EXTREMES: dict[str, list[Any]] = {
    "cpu_s": [1e-9, 1e-3, 1.0, 2e9],
    "wall_s": [1e-9, 1e-3, 0.1, 1.0],  # no higher: a program that waits would take all of it
    "memory_mib": _WHOLE,
    "processes": _WHOLE,
    "disk_mib": _WHOLE,
    "inodes": _WHOLE,
    "open_files": [24, 25, 64, 1 << 20, 1 << 31],
    "output_kib": [1, 2, 64, 1 << 20],
}
_LIMITS = st.builds(Limits, **{key: st.sampled_from(some) for key, some in _EXTREMES.items()})
_BEYOND = st.builds(
    lambda limits, name, value: msgspec.structs.replace(limits, **{name: value}),
    _LIMITS,
    st.sampled_from(sorted(_EXTREMES)),
    st.sampled_from([0, -1, 1 << 40, (1 << 63) - 1, 1 << 64]) | st.floats() | st.integers(),
)
_USUAL = st.just(Limits(cpu_s=1, wall_s=5, memory_mib=64, processes=8, disk_mib=2, output_kib=8))
_ANY = st.builds(
    Program,
    argv=st.lists(_WORDS, min_size=1, max_size=4).map(tuple),
    build=st.just(()) | st.lists(_WORDS, max_size=3).map(tuple),
    files=st.dictionaries(_PATHS, st.binary(max_size=200), max_size=3),
    stdin=st.binary(max_size=200),
    env=st.dictionaries(_TEXT, _TEXT, max_size=2),
    fetch=st.lists(_PATHS, max_size=3).map(tuple),
    loopback=st.booleans(),
)
_SAYING = st.builds(
    lambda out, err, end: python_program(
        f"import os\nos.write(1, {out!r} * {end % 9}); os.write(2, {err!r})\n"
        f"open('f', 'wb').write({out!r}); os._exit({end})",
        fetch=("f",),
    ),
    st.binary(max_size=4000),
    st.binary(max_size=200),
    st.integers(0, 255),
)


def _hunt(portal: BlockingPortal, pool: Pool, count: int) -> tuple[Counter[str], list[str]]:
    """Execute what Hypothesis draws; return the endings, and what no drawing may cause."""
    endings, faults = Counter[str](), []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(program=_ANY | _ANY | _SAYING, limits=_USUAL | _LIMITS | _LIMITS | _BEYOND)
    def hunt(program: Program, limits: Limits) -> None:
        try:
            done = portal.call(pool.execute, program, limits)
        except UserError:
            endings["refused"] += 1
        except SandboxError as error:
            endings["fault"] += 1
            faults.append(f"{error.message}: {program!r} {limits!r}"[:600])
        else:
            endings[done.status.value] += 1

    hunt()
    return endings, faults


def _check(arguments: argparse.Namespace) -> Seen:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_pool(slots=1)) as pool,
    ):
        before = children(os.getpid())
        endings, faults = _hunt(portal, pool, arguments.examples)
        same = children(os.getpid()) == before
        try:
            answer = portal.call(pool.execute, python_program("print(6 * 7)")).stdout
        except SandboxError:
            answer = b""
    return Seen(
        bounds=(
            equal("programs drawn", endings.total(), arguments.examples),
            equal("faults of the sandbox", len(faults), 0),
            equal("launchers that died", int(not same), 0),
            equal("answers of the pool at the end", int(answer == b"42\n"), 1),
        ),
        figures={ending: str(times) for ending, times in endings.most_common()},
        notes=tuple(f"`{fault}`" for fault in faults[:3]),
    )


if __name__ == "__main__":
    main(__file__, __doc__, _check, [("examples", 10_000, "programs drawn")])
