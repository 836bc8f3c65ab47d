"""The caller's side: open a pool of worlds and run programs in them.

The event loop never blocks: all waiting is on descriptors. A pool belongs to the task that
opened it; closing it, or the death of this process, ends every world.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import anyio

from quintain.errors import UserError
from quintain.sandbox._client import NativePool, start_launcher
from quintain.sandbox._root import HOST_ROOT, Root
from quintain.sandbox._session import SessionPool
from quintain.sandbox._types import DEFAULT_LIMITS, Execution, Program
from quintain.sandbox._walls import ALL_WALLS, DEFAULT_WALLS
from quintain.types import Freshness, Limits

__all__ = ["execute", "open_pool", "opened"]


@asynccontextmanager
async def open_pool(
    *,
    slots: int | None = None,
    require: Collection[str] = DEFAULT_WALLS,
    preload: tuple[str, ...] = (),
    freshness: Freshness = Freshness.FRESH,
    root: Root = HOST_ROOT,
) -> AsyncIterator[SessionPool]:
    """Keep worlds ready for many programs.

    ``slots`` is how many run at once (None: one a core); more may be awaited, they queue.
    ``preload`` names modules that the warm interpreter imports, which programs then get for
    nothing. ``freshness`` is how much is new for each execution, ``root`` the image that
    worlds are made from. Raises `UserError` when the host cannot raise a wall in ``require``,
    saying how it could, and for a root that is not laid over the host.
    """
    unknown = sorted(set(require) - set(ALL_WALLS))
    if unknown:
        raise UserError(
            f"require: no wall is called {', '.join(unknown)}",
            hint=f"the walls are {', '.join(ALL_WALLS)}",
        )
    async with opened(slots, preload, freshness, require, root=root) as pool:
        yield pool


@asynccontextmanager
async def opened(
    slots: int | None,
    preload: tuple[str, ...],
    freshness: Freshness,
    require: Collection[str],
    off: Collection[str] = (),
    root: Root = HOST_ROOT,
) -> AsyncIterator[NativePool]:
    """Open a native pool, for tests of the walls also without the walls named in ``off``."""
    pool = await start_launcher(
        slots=slots, preload=preload, freshness=freshness, off=off, root=root
    )
    failure: BaseException | None = None
    try:
        pool.check(require)
        async with anyio.create_task_group() as group:
            group.start_soon(pool.listen)
            try:
                yield pool
            except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001
                failure = error  # raised below, bare: a task group would wrap it
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await pool.close()
    if failure is not None:
        raise failure


def execute(program: Program, limits: Limits = DEFAULT_LIMITS) -> Execution:
    r"""Run one program in a fresh world and return what it did; opens a pool for it alone.

    >>> from quintain.sandbox import execute, python_program
    >>> execute(python_program("print(6 * 7)")).stdout  # doctest: +SKIP
    b'42\n'
    """

    async def once() -> Execution:
        async with open_pool(slots=1) as pool:
            return await pool.execute(program, limits)

    return anyio.run(once)
