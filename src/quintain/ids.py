"""Content hashes and the seeds derived from them.

Invariant: an id depends on content alone, and a seed on an id alone; never on position, time,
`hash()` or ``seed + index`` (with which train index 1 of seed 0 is held-out index 0 of seed 1).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable

__all__ = ["bucket", "content_id", "derive_seed", "rng", "short"]

Part = str | int | float | bool | bytes | None


def _frame(parts: Iterable[Part]) -> bytes:
    """Encode parts so that no two different sequences give the same bytes."""
    framed = bytearray()
    for part in parts:
        body = part if isinstance(part, bytes) else repr(part).encode()
        framed += f"{type(part).__name__}:{len(body)}:".encode() + body
    return bytes(framed)


def content_id(*parts: Part) -> str:
    """Hash the parts, in order, to 32 hexadecimal digits (128 bits of SHA-256).

    >>> content_id("a", 1) == content_id("a", 1)
    True
    >>> content_id("ab", "c") == content_id("a", "bc")
    False
    """
    return hashlib.sha256(_frame(parts)).hexdigest()[:32]


def derive_seed(*parts: Part) -> int:
    """Derive a 63-bit seed from the parts; equal parts give equal seeds on every machine."""
    return int.from_bytes(hashlib.sha256(_frame(parts)).digest()[:8], "big") >> 1


def rng(*parts: Part) -> random.Random:
    """Make a random generator seeded by the parts, for instance ``rng(family, version, index)``."""
    return random.Random(derive_seed(*parts))


def bucket(identity: str, buckets: int) -> int:
    """Put a hexadecimal id into one of ``buckets`` equal buckets; decides splits."""
    return int(identity[:15], 16) % buckets


def short(identity: str) -> str:
    """Shorten an id for people: its first eight digits."""
    return identity[:8]
