"""Limits that nothing can hold are refused before any world sees them."""

from __future__ import annotations

import anyio
import msgspec
import pytest

from quintain.errors import UserError
from quintain.sandbox import ExecutionStatus, execute, open_pool, python_program
from quintain.types import Freshness, Limits

_PROGRAM = python_program("open('f', 'w').write('x'); print(42)", fetch=("f",))
_WHOLE = ("memory_mib", "processes", "disk_mib", "inodes", "open_files", "output_kib")


def test_limits_beyond_what_can_be_held_are_refused_and_the_pool_goes_on() -> None:
    beyond = [(name, value) for name in _WHOLE for value in (0, -1, 1 << 44, 1 << 64)]
    beyond += [("open_files", 3), ("output_kib", 1 << 21)]
    floats = [("cpu_s", 1e300), ("wall_s", float("nan")), ("wall_s", float("inf"))]

    async def run() -> None:
        async with open_pool(slots=1) as pool:
            for name, value in [*beyond, *floats]:
                limits = msgspec.structs.replace(Limits(), **{name: value})
                with pytest.raises(UserError, match=name):
                    await pool.execute(_PROGRAM, limits)
            assert (await pool.execute(_PROGRAM)).stdout == b"42\n"

    anyio.run(run)


def test_limits_as_high_as_they_may_be_are_held() -> None:
    high = dict.fromkeys(_WHOLE, 1 << 31) | {"output_kib": 1 << 20}

    async def run() -> None:
        async with open_pool(slots=1) as pool:
            limits = Limits(cpu_s=1 << 31, wall_s=1 << 20, **high)
            done = await pool.execute(_PROGRAM, limits)
            assert (done.status, done.files) == (ExecutionStatus.OK, {"f": b"x"})

    anyio.run(run)


def test_a_program_ended_before_it_began_is_not_run_in_the_next_world() -> None:
    first, second = python_program("print('first')"), python_program("print('second')")

    async def run(freshness: Freshness) -> None:
        async with open_pool(slots=1, freshness=freshness) as pool:
            for _ in range(20):
                await pool.execute(first, Limits(wall_s=1e-9))
                with anyio.move_on_after(0):
                    await pool.execute(first)
                assert (await pool.execute(second)).stdout == b"second\n"
            async with pool.open() as session:
                for _ in range(20):
                    await session.run(first, Limits(wall_s=1e-9))
                    assert (await session.run(second)).stdout == b"second\n"

    for freshness in Freshness:
        anyio.run(run, freshness)


def test_the_fewest_open_files_are_enough_for_a_world() -> None:
    async def run() -> None:
        async with open_pool(slots=1) as pool:
            done = await pool.execute(_PROGRAM, Limits(open_files=24))
            assert done.status is ExecutionStatus.OK, done

    anyio.run(run)


@pytest.mark.parametrize(
    ("files", "limits", "said"),
    [
        ({"a": b"x" * 4097} | {f"b{i}": b"x" for i in range(255)}, Limits(disk_mib=1), "disk"),
        ({"a/b/c": b""}, Limits(inodes=2), "inodes"),
        ({"é" * 128: b""}, Limits(), "longer"),
        ({"/".join(["d" * 200] * 30): b""}, Limits(), "longer"),
        ({}, Limits(output_kib=1.5), "whole"),  # type: ignore[arg-type]  # is refused
    ],
)
def test_what_the_world_cannot_hold_is_refused_by_name(
    files: dict[str, bytes], limits: Limits, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        execute(python_program("", files=files), limits)


def test_files_that_just_fit_are_laid() -> None:
    files = {"a/b": b"x" * 4096} | {f"c{i}": b"x" for i in range(254)}
    done = execute(python_program("print(len(open('a/b').read()))", files=files), FITTING)
    assert done.stdout == b"4096\n", done


FITTING = Limits(disk_mib=1, inodes=257)
