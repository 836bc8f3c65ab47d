"""Worlds made from an image: its layers laid over the host, its settings in the environment."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from quintain.errors import UserError
from quintain.sandbox import Execution, Program, open_pool
from quintain.sandbox._root import Root


def _run(root: Root, command: str) -> Execution:
    async def run() -> Execution:
        async with open_pool(slots=1, root=root) as pool:
            return await pool.execute(Program(argv=("sh", "-c", command)))

    return anyio.run(run)


def test_layers_lie_over_the_host_and_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name, text in (("one/opt/tool/a", "a"), ("two/opt/tool/b", "b"), ("two/data/c", "c")):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "two/opt/link").symlink_to("tool/a")
    layers = (str(tmp_path / "one"), str(tmp_path / "two"))
    root = Root(layers=layers, env={"TOOL": "x"}, digest="d", drift=("libc differs",))
    done = _run(root, "cat /opt/tool/a /opt/link /opt/tool/b /data/c; echo $TOOL; echo y > /data/c")
    assert done.stdout == b"aabcx\n"
    assert b"Read-only" in done.stderr
    assert "libc differs" in done.isolation.notes


def test_a_root_without_the_host_is_refused_with_a_way_out() -> None:
    with pytest.raises(UserError, match="base `host`"):
        _run(Root(layers=("/",), host=False, digest="d"), "true")
