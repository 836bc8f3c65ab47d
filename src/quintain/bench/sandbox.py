"""How fast fresh worlds are: against bubblewrap with a cold interpreter, and against no walls.

All sides run the same program with the same interpreter, two at a time, in slices that take
turns within one run; slices are long enough that tearing worlds down counts. The floor is a
bare fork of the same warm interpreter that prints and exits: no walls, no limits, no supervisor.

Walls are the same but for these: bubblewrap has no Landlock, no control groups and no limit on
inodes, and its working directory is a directory of the host; it has a net namespace of its own
for each run, as the fresh grade has. The pooled grade keeps a net namespace for each slot.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np

import quintain
from quintain.bench._result import BenchResult, Figure, Ratio, paired_ratio, result
from quintain.errors import UserError
from quintain.sandbox import Pool, open_pool, python_program
from quintain.sandbox._bwrap import available, seccomp_file
from quintain.sandbox._bwrap_argv import bwrap_argv, world_environment
from quintain.types import Freshness, Limits

__all__ = ["bench"]

_CONCURRENCY = 2
_IMPORTS = ("numpy", "pytest")
_PROGRAMS = {"trivial": "print(42)\n", "imports": "import numpy, pytest\nprint(42)\n"}
_PACKAGES = str(Path(quintain.__file__).resolve().parents[1])
_LIMITS = Limits(wall_s=60, cpu_s=30)

_FLOOR = """\
import os, sys, time
sys.path.insert(0, sys.argv[4])
import quintain.sandbox._native._zygote  # the same warm image, for the same fork
sys.path.pop(0)
for name in sys.argv[2].split(): __import__(name)
import gc; gc.collect(); gc.freeze()
code = compile(sys.argv[3], "main.py", "exec")
end, count = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        exec(code, {"__name__": "__main__"})
        sys.stdout.flush()
        os._exit(0)
    os.close(write)
    while os.read(read, 4096): pass
    os.close(read)
    os.waitpid(child, 0)
    count += 1
os.write(2, str(count).encode())
"""

Side = Callable[[float], Awaitable[float]]
"""Runs for some seconds and returns executions per second."""


def bench(*, seconds: float = 30.0, slice_s: float = 3.0) -> BenchResult:
    """Measure every side for ``seconds``, in slices that take turns.

    Raises `UserError` when bubblewrap is not installed.
    """
    if not available():
        raise UserError(
            "bwrap is not installed", hint="install Debian's or your system's `bubblewrap`"
        )
    return anyio.run(_bench, max(1, round(seconds / slice_s)), slice_s)


async def _bench(rounds: int, slice_s: float) -> BenchResult:
    rates: dict[str, list[float]] = {}
    latencies: dict[str, list[float]] = {"fresh": [], "pooled": []}
    for kind, source in _PROGRAMS.items():
        preload = _IMPORTS if kind == "imports" else ()
        fresh = open_pool(slots=_CONCURRENCY, preload=preload)
        pooled = open_pool(slots=_CONCURRENCY, preload=preload, freshness=Freshness.POOLED)
        async with fresh as fresh_pool, pooled as pooled_pool:
            sides: dict[str, Side] = {
                "fresh": _ours(fresh_pool, source, latencies["fresh"]),
                "pooled": _ours(pooled_pool, source, latencies["pooled"]),
                "bwrap": _bwrap(source),
                "floor": _floor(source, preload),
            }
            for side in sides.values():
                await side(min(slice_s, 1.0))  # caches warm on every side
            for seen in latencies.values():
                seen.clear() if kind == "trivial" else None
            for _ in range(rounds):
                for name, side in sides.items():
                    rates.setdefault(f"{name}_{kind}", []).append(await side(slice_s))
    return _report(rates, latencies)


def _report(rates: dict[str, list[float]], latencies: dict[str, list[float]]) -> BenchResult:
    ratios = {}
    for kind in _PROGRAMS:
        of = {name: rates[f"{name}_{kind}"] for name in ("fresh", "pooled", "bwrap", "floor")}
        ratios[f"vs_bwrap_{kind}"] = paired_ratio(of["fresh"], of["bwrap"])
        suffix = "" if kind == "trivial" else f"_{kind}"
        ratios[f"vs_floor{suffix}"] = paired_ratio(of["floor"], of["fresh"])
        ratios[f"pooled_vs_floor{suffix}"] = paired_ratio(of["floor"], of["pooled"])
    p50, p99 = np.percentile(latencies["fresh"], [50, 99])
    tail = float(p99 / p50)
    ratios["p99_over_p50"] = Ratio(median=tail, low=tail, high=tail)
    figures = {
        name: Figure(value=float(np.median(values)), unit="executions/s")
        for name, values in rates.items()
    }
    figures["fresh_p50"] = Figure(value=float(p50) * 1e3, unit="ms")
    figures["fresh_p99"] = Figure(value=float(p99) * 1e3, unit="ms")
    return result("sandbox", ratios=ratios, figures=figures, packages=_IMPORTS)


def _ours(pool: Pool, source: str, latencies: list[float]) -> Side:
    program = python_program(source)

    async def side(seconds: float) -> float:
        end, count = time.monotonic() + seconds, 0

        async def loop() -> None:
            nonlocal count
            while (started := time.monotonic()) < end:
                done = await pool.execute(program, _LIMITS)
                if done.stdout != b"42\n":
                    raise RuntimeError(f"the program did not run: {done}")
                latencies.append(time.monotonic() - started)
                count += 1

        async with anyio.create_task_group() as group:
            for _ in range(_CONCURRENCY):
                group.start_soon(loop)
        return count / seconds

    return side


def _bwrap(source: str) -> Side:
    def loop(end: float, counts: list[int]) -> None:
        count = 0
        with tempfile.TemporaryDirectory() as work, seccomp_file() as filter_fd:
            with open(f"{work}/main.py", "w") as file:  # noqa: PTH123
                file.write(source)
            argv = bwrap_argv(work, seccomp_fd=filter_fd, size_mib=64)
            for name, value in world_environment({}).items():
                argv += ["--setenv", name, value]
            while time.monotonic() < end:
                os.lseek(filter_fd, 0, os.SEEK_SET)
                done = subprocess.run(
                    [*argv, "python", "main.py"],
                    pass_fds=[filter_fd],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                )
                if done.stdout != b"42\n":
                    raise RuntimeError(f"bwrap did not run: {done.stderr!r}")
                count += 1
        counts.append(count)

    async def side(seconds: float) -> float:
        return await _threads(loop, seconds)

    return side


def _floor(source: str, preload: tuple[str, ...]) -> Side:
    def loop(end: float, counts: list[int]) -> None:
        seconds = str(end - time.monotonic())
        done = subprocess.run(
            [sys.executable, "-c", _FLOOR, seconds, " ".join(preload), source, _PACKAGES],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            env=world_environment({}),
        )
        counts.append(int(done.stderr))

    async def side(seconds: float) -> float:
        return await _threads(loop, seconds)

    return side


async def _threads(loop: Callable[[float, list[int]], None], seconds: float) -> float:
    counts: list[int] = []
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=loop, args=(end, counts)) for _ in range(_CONCURRENCY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await anyio.to_thread.run_sync(thread.join)
    if len(counts) != _CONCURRENCY:
        raise RuntimeError("a side of the bench failed; its error is above")
    return sum(counts) / seconds
