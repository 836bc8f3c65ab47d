"""Run the hostile programs against a pool, with baits laid out on the host.

``python -m quintain.testing._battery OUT [NAME [WALL…]]`` runs the whole list, or one attack, with
this process's privileges, without the walls named, and writes what came of it.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import msgspec

from quintain.codec import encode
from quintain.sandbox import Execution, Pool, Program
from quintain.sandbox._pool import opened
from quintain.testing._attacks import ATTACKS, Attack
from quintain.types import Freshness

__all__ = ["Finding", "baits", "read_findings", "run_attacks"]


class Finding(msgspec.Struct, frozen=True):
    """What came of one attack."""

    executions: tuple[Execution, ...]
    left: int
    """Processes of the pool one second after, beyond those that stood before."""


@contextmanager
def baits() -> Iterator[dict[str, str]]:
    """Lay out what attacks look for: a file, two sockets, a secret in the environment."""
    token, nonce = secrets.token_hex(16), "".join(secrets.choice("abcdefgh") for _ in range(24))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        canary = Path(folder, "canary")
        canary.write_text("bait")
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0bait-{token}")
        abstract.listen()
        os.environ["QUINTAIN_BAIT"] = token
        stack.callback(os.environ.pop, "QUINTAIN_BAIT")
        yield {
            "@CANARY@": str(canary),
            "@PORT@": str(server.getsockname()[1]),
            "@ABSTRACT@": f"bait-{token}",
            "@TOKEN@": token,
            "@NONCE@": nonce,
            "@SHIFTED@": "".join(chr(ord(letter) + 1) for letter in nonce),
        }


def _baited(program: Program, bait: Mapping[str, str]) -> Program:
    files = {}
    for name, content in program.files.items():
        for word, value in bait.items():
            content = content.replace(word.encode(), value.encode())
        files[name] = content
    return msgspec.structs.replace(program, files=files)


async def run_attacks(
    pool: Pool, attacks: Iterable[Attack], bait: Mapping[str, str]
) -> dict[str, Finding]:
    """Run attacks one after the other on a pool of one slot, and count what they leave."""
    findings = {}
    await pool.execute(Program(argv=("true",)))
    await anyio.sleep(0.5)  # until the next world is in stock
    standing = _descendants(os.getpid())
    for attack in attacks:
        done = [
            await pool.execute(_baited(program, bait), attack.limits) for program in attack.programs
        ]
        left = await _settled(standing) - standing
        findings[attack.name] = Finding(executions=tuple(done), left=max(left, 0))
    return findings


async def _settled(wanted: int) -> int:
    """Count descendants until there are no more than wanted, for a second at most."""
    for _ in range(50):
        count = _descendants(os.getpid())
        if count <= wanted:
            return count
        await anyio.sleep(0.02)
    return count


def _descendants(root: int) -> int:
    parents: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            parent = int(text.rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(entry.name))
    count, pending = 0, [root]
    while pending:
        children = parents.get(pending.pop(), [])
        count += len(children)
        pending += children
    return count


def read_findings(path: Path) -> dict[str, Finding]:
    """Read what a battery in another process wrote."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Finding])


async def _main(out: str, only: str = "", *off: str) -> None:
    attacks = [attack for attack in ATTACKS if only in ("", attack.name)]
    with baits() as bait:
        async with opened(1, (), Freshness.FRESH, (), off) as pool:
            findings = await run_attacks(pool, attacks, bait)
    await anyio.Path(out).write_bytes(encode(findings))


if __name__ == "__main__":
    anyio.run(lambda: _main(*sys.argv[1:]))
