"""What a published solution returns for given arguments, found out in the sandbox.

Invariant: published code is third-party code. It is parsed here and never run here.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from quintain.errors import SandboxError
from quintain.judge import wire
from quintain.sandbox import ExecutionStatus, Pool, Program, python_program
from quintain.tasks.formats._parse import parse
from quintain.types import Limits

__all__ = ["Observation", "Observations", "observe", "with_contract"]

_LIMITS = Limits(cpu_s=60, wall_s=180, memory_mib=4096, output_kib=128 << 10, disk_mib=256)


class Observation(msgspec.Struct, frozen=True):
    """What one call gave; exactly one is set."""

    args: str = ""
    """Wire text of the arguments, when the published test chose them."""
    value: str | None = None
    """Wire text of what came back."""
    raised: str | None = None
    """Name of the exception."""
    refused: str | None = None
    """Why there is no value to use: not a plain one, or too long in coming."""
    outside: str | None = None
    """The arguments break the solution's declared contract."""
    cpu_s: float = 0.0
    """What a listed call took, as its own world measured it."""
    end: str | None = None
    """Not a call: the last line of a run that was not cut short."""


class Observations(msgspec.Struct, frozen=True):
    """What all calls gave, as far as they got."""

    calls: tuple[Observation, ...]
    cpu_s: float
    fault: str = ""
    """Why there are fewer than were asked for."""


def with_contract(source: str, entry: str, contract: str) -> str:
    """Append a function that asserts the contract on the parameters of ``entry``.

    Raises `ValueError` when the source or the contract does not parse, or lacks ``entry``.
    """
    if not contract.strip():
        return source
    try:
        found = [
            node
            for node in parse(source).body
            if isinstance(node, ast.FunctionDef) and node.name == entry
        ]
        body = textwrap.indent(textwrap.dedent(contract.strip("\n")), "    ")
        added = f"\n\n\ndef quintain_contract({ast.unparse(found[-1].args)}):\n{body}\n    pass\n"
        parse(added)
    except (ValueError, IndexError) as error:
        raise ValueError(f"contract of {entry}: {error}") from error
    return source + added


async def observe(
    pool: Pool,
    source: str,
    entry: str,
    args: Sequence[str],
    test: str = "",
    *,
    patience_s: float = 10.0,
) -> Observations:
    """Call ``entry`` of a source once with each wire text of arguments.

    With a ``test``, a module that tests ``entry``, the calls are those that the test makes.
    A listed call that takes more than ``patience_s`` of CPU is given up, so that the others count.
    Raises `SandboxError` when the sandbox itself fails.
    """
    calls = {
        "source": source,
        "entry": entry,
        "args": list(args),
        "test": test,
        "patience_s": patience_s,
    }
    execution = await pool.execute(_program(calls), _LIMITS)
    if execution.status is ExecutionStatus.INVALID:
        raise SandboxError(f"the sandbox gave no result: {execution.note}")
    lines = execution.files.get("observed.jsonl", b"").split(b"\n")[:-1]
    try:
        seen = tuple(msgspec.json.decode(line, type=Observation) for line in lines)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Observations(calls=(), cpu_s=execution.cpu_s, fault="wrote no observations")
    if seen and seen[-1].end:
        return Observations(calls=seen[:-1], cpu_s=execution.cpu_s)
    last = execution.stderr.decode("utf-8", "replace").strip().splitlines()
    fault = f"{execution.status.value}{': ' + last[-1][:120] if last else ''}"
    return Observations(calls=seen, cpu_s=execution.cpu_s, fault=fault)


def _program(calls: Mapping[str, object]) -> Program:
    return python_program(
        (Path(__file__).parent / "_observer.py").read_text(),
        files={
            "quintain_wire.py": Path(wire.__file__).read_bytes(),
            "calls.json": json.dumps(calls).encode(),
        },
        fetch=("observed.jsonl",),
    )
