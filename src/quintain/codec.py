"""The one codec: JSON to and from nouns, with errors that name the file, the line and the field.

Past this boundary no bare ``dict`` travels. Encoding is canonical (fields in declaration order,
mappings sorted), so that digests of encoded nouns are stable.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from quintain.errors import UserError
from quintain.ids import content_id

__all__ = ["decode", "digest", "encode", "read_json"]

T = TypeVar("T")

_ENCODER = msgspec.json.Encoder(order="deterministic")


def encode(value: object) -> bytes:
    """Encode a noun (or a plain container of nouns) as one line of JSON."""
    return _ENCODER.encode(value)


def digest(value: object) -> str:
    """Return the content hash of a noun: of its type's name and its JSON."""
    return content_id(type(value).__name__, encode(value))


def decode(data: bytes | str, kind: type[T], *, where: str) -> T:
    """Decode JSON into ``kind``.

    ``where`` names the source for people, for instance ``tasks.jsonl:12``.
    Raises `UserError` for JSON that is malformed, or does not fit ``kind``.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise UserError(
            f"{where}: {error}", hint=f"the fields of a {kind.__name__} are in quintain/types.py"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{where}: not valid JSON: {error}") from error


def read_json(path: Path, kind: type[T]) -> T:
    """Read one JSON file into ``kind``; raises `UserError` when it is absent or does not fit."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    return decode(data, kind, where=str(path))
