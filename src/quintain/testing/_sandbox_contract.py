"""What every sandbox backend must do, as a suite that any backend can run.

::

    class TestMine(SandboxContract):
        known_failures = {"filling_the_disk": "the disk is the host's"}

        def open(self):
            return open_my_pool(slots=1)

Violations are sentences. ``known_failures`` names attacks that the backend does not hold, or
ends with another status, and why; what is not named must hold.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

import anyio

from quintain.errors import UserError
from quintain.sandbox import Execution, ExecutionStatus, Pool, Program, python_program
from quintain.testing._attacks import ATTACKS, complaint
from quintain.testing._battery import baits, run_attacks
from quintain.types import Limits

__all__ = ["SandboxContract"]


def _expect(condition: bool, sentence: str) -> None:
    if not condition:
        raise AssertionError(sentence)


class SandboxContract:
    """Inherit from it, name the class ``Test…`` and say how a pool of one slot is opened."""

    known_failures: ClassVar[Mapping[str, str]] = {}
    """Attack to why this backend fails it."""

    def open(self) -> AbstractAsyncContextManager[Pool]:
        """Open a pool of one slot."""
        raise NotImplementedError

    def _in_pool(self, body: Callable[[Pool], Awaitable[None]]) -> None:
        async def run() -> None:
            async with self.open() as pool:
                await body(pool)

        anyio.run(run)

    def _run(self, program: Program, limits: Limits | None = None) -> Execution:
        done: list[Execution] = []

        async def body(pool: Pool) -> None:
            done.append(await pool.execute(program, limits or Limits()))

        self._in_pool(body)
        return done[0]

    def test_outputs_and_exit_code_come_back(self) -> None:
        """Standard output, standard error and the exit code are the program's."""
        done = self._run(Program(argv=("sh", "-c", "echo out; echo err >&2; exit 3")))
        _expect(done.exit_code == 3, f"the exit code must be 3, not {done.exit_code}")
        _expect(done.status is ExecutionStatus.RUNTIME_ERROR, "exit code 3 is a runtime error")
        _expect(done.stdout == b"out\n", f"stdout must be 'out', not {done.stdout!r}")
        _expect(done.stderr == b"err\n", f"stderr must be 'err', not {done.stderr!r}")

    def test_input_arrives_byte_for_byte(self) -> None:
        """No byte of the input is lost or changed, NUL and 0xFF included."""
        data = bytes(range(256)) * 1000
        done = self._run(Program(argv=("cat",), stdin=data))
        _expect(done.stdout == data, "cat must return its input unchanged")

    def test_files_are_laid_and_fetched(self) -> None:
        """Named files are there, in their directories; outputs come back, absent ones do not."""
        program = Program(
            argv=("sh", "-c", "cat a/b > c"), files={"a/b": b"\x00x"}, fetch=("c", "absent")
        )
        done = self._run(program)
        _expect(dict(done.files) == {"c": b"\x00x"}, f"only c must come back, not {done.files}")

    def test_python_starts_where_its_files_are(self) -> None:
        """The working directory is /work and the interpreter is the caller's."""
        done = self._run(python_program("import os, sys; print(os.getcwd(), sys.version_info[:2])"))
        _expect(done.stdout.startswith(b"/work ("), f"it must run in /work, not {done.stdout!r}")

    def test_every_execution_says_which_walls_stood(self) -> None:
        """The isolation report names at least the walls that are required by default."""
        report = self._run(Program(argv=("true",))).isolation
        for wall in ("user_namespace", "mount_namespace", "pid_namespace", "net_namespace"):
            _expect(report.walls.get(wall, False), f"the report must say that {wall} stood")

    def test_a_path_that_leaves_the_world_is_refused(self) -> None:
        """Absolute and escaping paths are the caller's mistake, told before anything runs."""
        for path in ("../x", "/etc/x"):
            try:
                self._run(Program(argv=("true",), files={path: b""}))
            except UserError:
                continue
            raise AssertionError(f"the path {path} must be a UserError")

    def test_output_beyond_its_limit_is_cut_and_said_to_be(self) -> None:
        """Kept is what fits; the flag and the status say that there was more."""
        done = self._run(Program(argv=("yes",)), Limits(output_kib=8))
        _expect(done.status is ExecutionStatus.OUTPUT_LIMIT, f"not {done.status}")
        _expect(done.stdout_truncated, "the flag must be set")
        _expect(len(done.stdout) == 8 << 10, f"8 KiB must be kept, not {len(done.stdout)} bytes")

    def test_a_time_out_kills_grandchildren(self) -> None:
        """Nothing of the program is alive when its result is there."""
        source = "(while true; do sleep 1; done) & (setsid sleep 4242 &) ; sleep 4242"
        done = self._run(Program(argv=("sh", "-c", source)), Limits(wall_s=0.5))
        _expect(done.status is ExecutionStatus.WALL_LIMIT, f"it must time out, not {done.status}")

    def test_every_attack_is_held(self) -> None:
        """All hostile programs meet their wall, but for the failures that are known."""
        found: dict[str, str] = {}

        async def body(pool: Pool) -> None:
            with baits() as bait:
                findings = await run_attacks(pool, ATTACKS, bait)
            for attack in ATTACKS:
                executions, left = findings[attack.name].executions, findings[attack.name].left
                text = complaint(attack, executions, as_root=os.getuid() == 0)
                if text or left:
                    found[attack.name] = text or f"{left} processes are left"

        self._in_pool(body)
        for name in self.known_failures:
            found.pop(name, None)
        told = "\n".join(f"{name}: {text}" for name, text in found.items())
        _expect(not found, f"these attacks were not held:\n{told}")
