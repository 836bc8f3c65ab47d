"""What an execution reports, seen through the one-shot call and a pool."""

from __future__ import annotations

import anyio
import pytest

from quintain.errors import UserError
from quintain.sandbox import (
    Execution,
    ExecutionStatus,
    Program,
    execute,
    open_pool,
    python_program,
)
from quintain.types import Limits


def _run(source: str, limits: Limits | None = None, stdin: bytes = b"") -> Execution:
    return execute(python_program(source, stdin=stdin), limits or Limits())


def test_output_exit_code_and_walls_come_back() -> None:
    done = _run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (done.status, done.exit_code) == (ExecutionStatus.RUNTIME_ERROR, 3)
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")
    assert done.isolation.walls["net_namespace"]
    assert done.cpu_s > 0
    assert done.wall_s > 0
    assert done.peak_memory_kib > 0


def test_an_uncaught_exception_prints_only_the_programs_frames() -> None:
    done = _run("def f():\n    return 1 / 0\nf()\n")
    assert done.exit_code == 1
    text = done.stderr.decode()
    assert text.startswith('Traceback (most recent call last):\n  File "/work/main.py", line 3')
    assert text.endswith("ZeroDivisionError: division by zero\n")
    assert "quintain" not in text


def test_stdin_bytes_arrive_unchanged() -> None:
    data = bytes(range(256)) * 1000
    done = _run("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", stdin=data)
    assert done.stdout == data


def test_a_signal_is_reported_as_one() -> None:
    done = _run("import os; os.abort()")
    assert (done.exit_code, done.signal) == (None, 6)
    assert done.status is ExecutionStatus.RUNTIME_ERROR


def test_files_are_laid_and_fetched() -> None:
    program = Program(
        argv=("sh", "-c", "tr a-z A-Z < in/text > out; mkdir d; echo 1 > d/f"),
        files={"in/text": b"hello"},
        fetch=("out", "d/f", "absent"),
    )
    done = execute(program)
    assert done.status is ExecutionStatus.OK
    assert dict(done.files) == {"out": b"HELLO", "d/f": b"1\n"}


def test_a_program_that_does_not_exist_exits_with_127() -> None:
    done = execute(Program(argv=("no-such-program",)))
    assert done.exit_code == 127
    assert b"no-such-program" in done.stderr


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a//b", ".", "a/../b", "", "a\0b"])
def test_paths_that_leave_the_working_directory_are_refused(path: str) -> None:
    with pytest.raises(UserError):
        execute(Program(argv=("true",), files={path: b""}))
    with pytest.raises(UserError):
        execute(Program(argv=("true",), fetch=(path,)))


def test_a_wall_that_does_not_exist_is_a_user_error() -> None:
    async def ask() -> None:
        async with open_pool(require={"moat"}):
            pass

    with pytest.raises(UserError, match="moat"):
        anyio.run(ask)


def test_an_error_in_the_body_leaves_the_pool_bare() -> None:
    async def fail() -> None:
        async with open_pool(slots=1):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        anyio.run(fail)


def test_many_programs_share_few_slots() -> None:
    async def many() -> list[bytes]:
        results = [b""] * 20
        async with open_pool(slots=2) as pool:

            async def one(index: int) -> None:
                done = await pool.execute(python_program(f"print({index})"))
                results[index] = done.stdout

            async with anyio.create_task_group() as group:
                for index in range(20):
                    group.start_soon(one, index)
        return results

    assert anyio.run(many) == [f"{index}\n".encode() for index in range(20)]


def test_a_cancelled_execution_frees_its_slot() -> None:
    async def cancel() -> Execution:
        async with open_pool(slots=1) as pool:
            with anyio.move_on_after(0.3):
                await pool.execute(python_program("import time; time.sleep(60)"))
            return await pool.execute(python_program("print('next')"))

    assert anyio.run(cancel).stdout == b"next\n"


def test_preloaded_modules_are_there_and_unknown_ones_refused() -> None:
    async def loaded() -> Execution:
        async with open_pool(slots=1, preload=("json", "decimal")) as pool:
            return await pool.execute(python_program("import sys; print('decimal' in sys.modules)"))

    assert anyio.run(loaded).stdout == b"True\n"

    async def unknown() -> None:
        async with open_pool(slots=1, preload=("no_such_module",)):
            pass

    with pytest.raises(UserError, match="no_such_module"):
        anyio.run(unknown)


def test_the_interpreters_own_variables_count() -> None:
    program = python_program("import sys; print(sys.flags.dev_mode, hash('a') == 0)")
    changed = Program(argv=program.argv, files=program.files, env={"PYTHONDEVMODE": "1"})
    assert execute(program).stdout.startswith(b"False")
    assert execute(changed).stdout.startswith(b"True")
