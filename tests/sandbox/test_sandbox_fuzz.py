"""Whatever a program is or prints, the sandbox answers with a value or a user error."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintain.errors import UserError
from quintain.sandbox import Execution, Program, SessionPool, open_pool, python_program
from quintain.sandbox._native._verdict import Observed, status
from quintain.sandbox._types import ExecutionStatus
from quintain.sandbox._wire import Reader, frame
from quintain.types import Limits

_EXAMPLES = int(os.environ.get("QUINTAIN_FUZZ_EXAMPLES", "40"))
_SETTINGS = settings(
    max_examples=_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_LIMITS = Limits(cpu_s=1, wall_s=5, memory_mib=64, processes=8, disk_mib=2, output_kib=8)


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as started:
        yield started


@pytest.fixture(scope="module")
def pool(portal: BlockingPortal) -> Iterator[SessionPool]:
    with portal.wrap_async_context_manager(open_pool(slots=1)) as opened:
        yield opened


_NAMES = st.text(max_size=12) | st.sampled_from(["a", "a/b", "main.py", "..", "/x", "a/../b"])
_ARGV = st.lists(st.text(max_size=20) | st.sampled_from(["sh", "-c", "cat", "python"]), max_size=4)


@_SETTINGS
@given(
    argv=_ARGV,
    files=st.dictionaries(_NAMES, st.binary(max_size=200), max_size=3),
    stdin=st.binary(max_size=200),
    env=st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=2),
    fetch=st.lists(_NAMES, max_size=3),
    loopback=st.booleans(),
)
def test_any_specification_is_executed_or_refused(
    portal: BlockingPortal,
    pool: SessionPool,
    argv: list[str],
    files: dict[str, bytes],
    stdin: bytes,
    env: dict[str, str],
    fetch: list[str],
    loopback: bool,
) -> None:
    program = Program(
        argv=tuple(argv),
        files=files,
        stdin=stdin,
        env=env,
        fetch=tuple(fetch),
        loopback=loopback,
    )
    try:
        done = portal.call(pool.execute, program, _LIMITS)
    except UserError:
        return
    assert isinstance(done, Execution)
    assert set(done.files) <= set(fetch)


@_SETTINGS
@given(out=st.binary(max_size=20000), err=st.binary(max_size=200), code=st.integers(0, 255))
def test_any_output_comes_back_as_it_was(
    portal: BlockingPortal, pool: SessionPool, out: bytes, err: bytes, code: int
) -> None:
    source = f"import os\nos.write(1, {out!r}); os.write(2, {err!r}); os._exit({code})"
    done = portal.call(pool.execute, python_program(source), _LIMITS)
    assert done.stderr == err
    assert done.stdout == out[: 8 << 10]
    assert done.stdout_truncated == (len(out) > 8 << 10)
    if not done.stdout_truncated:
        assert done.exit_code == code


@given(
    messages=st.lists(st.tuples(st.dictionaries(st.text(), st.text()), st.lists(st.binary()))),
    cut=st.integers(1, 50),
)
def test_messages_survive_any_cutting(
    messages: list[tuple[dict[str, str], list[bytes]]], cut: int
) -> None:
    messages = [(header, blobs) for header, blobs in messages if "blobs" not in header]
    stream = b"".join(frame(header, blobs) for header, blobs in messages)
    reader = Reader()
    found = []
    for at in range(0, len(stream), cut):
        found += list(reader.feed(stream[at : at + cut]))
    assert found == messages


@given(
    st.builds(
        Observed,
        exit_code=st.none() | st.integers(0, 255),
        killed=st.sampled_from(["", "cpu", "wall", "output", "memory", "cancel"]),
        cpu_s=st.floats(0, 10),
        cpu_limit_s=st.floats(0.1, 10),
        oom_kills=st.integers(0, 2),
        refused_forks=st.integers(0, 2),
        disk_full=st.booleans(),
        run_delay_s=st.floats(0, 10),
        wall_limit_s=st.floats(0.1, 10),
        build_failed=st.booleans(),
    )
)
def test_every_ending_has_a_status_and_only_a_clean_one_is_ok(seen: Observed) -> None:
    found = ExecutionStatus(status(seen))
    clean = seen.exit_code == 0 and not seen.killed and not seen.oom_kills
    assert (found is ExecutionStatus.OK) == (clean and seen.cpu_s <= seen.cpu_limit_s) or (
        seen.killed == "cancel"
    )
