"""Length-framed messages between a caller and its launcher: a JSON header and byte strings.

Standard library only: the launcher imports nothing else. A frame is two little-endian 32-bit
lengths (of the rest, of the header), the header, and the byte strings end to end; the header's
``blobs`` gives their lengths.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["Header", "Reader", "frame"]

Header = dict[str, Any]
_LENGTHS = struct.Struct("<II")


def frame(header: Header, blobs: Sequence[bytes] = ()) -> bytes:
    """Encode one message."""
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    rest = len(text) + sum(map(len, blobs))
    return b"".join((_LENGTHS.pack(rest, len(text)), text, *blobs))


class Reader:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Header, list[bytes]]]:
        """Yield the messages that ``data`` completes."""
        self._buffer += data
        while len(self._buffer) >= _LENGTHS.size:
            rest, length = _LENGTHS.unpack_from(self._buffer)
            end = _LENGTHS.size + rest
            if len(self._buffer) < end:
                return
            message = bytes(self._buffer[_LENGTHS.size : end])
            del self._buffer[:end]
            yield _parse(message, length)


def _parse(message: bytes, length: int) -> tuple[Header, list[bytes]]:
    header: Header = json.loads(message[:length])
    blobs, at = [], length
    for size in header.pop("blobs"):
        blobs.append(message[at : at + size])
        at += size
    return header, blobs
