"""Plain Python values as JSON text, and back, with their exact types.

Stands alone on the standard library, because its source is also laid into the sandbox beside the
candidate. Invariant: ``decode(encode(value))`` has the value and the types of ``value``, and a
value that is not plain — a subclass of a plain type included — is refused by name, so that no
object with methods of its own ever reaches a comparison.

Does not guarantee that a text was written by `encode`: inside the sandbox the candidate can write
any text, which is why `decode` is strict and bounded.

Form: ``null``, ``true``, small integers, text and lists are themselves; everything else is an
object with one key that names the type, for instance ``{"tuple": [1, {"float": "0.5"}]}``.
"""

from __future__ import annotations

import json

__all__ = ["MAX_DEPTH", "MAX_SIZE", "WireError", "decode", "encode", "parse"]

MAX_DEPTH = 64
"""Containers within containers."""
MAX_SIZE = 1 << 20
"""Characters of a text."""

_SAFE_INT = 1 << 53
_CONTAINERS = {"tuple": tuple, "set": set, "frozenset": frozenset}


class WireError(ValueError):
    """Raised for a value that is not plain, and for a text that is not in the form."""


def encode(value: object) -> str:
    """Write a plain value as one line of ASCII JSON.

    >>> encode((1, "a", 0.5))
    '{"tuple": [1, "a", {"float": "0.5"}]}'

    Dicts keep their order, sets are sorted. Raises `WireError` for any other type (named in the
    message), for nesting beyond `MAX_DEPTH` and for texts beyond `MAX_SIZE`.
    """
    text = _Writer().text(value, 0)
    if len(text) > MAX_SIZE:
        raise WireError(f"value is larger than {MAX_SIZE} characters")
    return text


class _Writer:
    """Writes one value; stops early once the budget of characters is spent."""

    def __init__(self) -> None:
        self.left = MAX_SIZE

    def text(self, value: object, depth: int) -> str:
        kind = type(value)
        if kind in (list, tuple, set, frozenset, dict):
            return self._container(value, depth)
        text = _scalar(value)
        self.left -= len(text)
        if self.left < 0:
            raise WireError(f"value is larger than {MAX_SIZE} characters")
        return text

    def _container(self, value: object, depth: int) -> str:
        if depth >= MAX_DEPTH:
            raise WireError(f"value is nested deeper than {MAX_DEPTH}")
        self.left -= 2
        # `type(...) is`, never isinstance: a subclass may lie about its class and its items.
        if type(value) is list:
            return self._items(list(value), depth)
        if type(value) is tuple:
            return '{"tuple": ' + self._items(list(value), depth) + "}"
        if type(value) is dict:
            pairs = [
                "[" + self.text(key, depth + 1) + ", " + self.text(item, depth + 1) + "]"
                for key, item in value.items()
            ]
            return '{"dict": [' + ", ".join(pairs) + "]}"
        if type(value) is set or type(value) is frozenset:
            texts = sorted(self.text(item, depth + 1) for item in value)
            return '{"' + type(value).__name__ + '": [' + ", ".join(texts) + "]}"
        raise WireError(f"a {_name(value)} is not a plain value")

    def _items(self, items: list[object], depth: int) -> str:
        return "[" + ", ".join([self.text(item, depth + 1) for item in items]) + "]"


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        # Hexadecimal has no limit on digits; past 2**53 other JSON readers would round.
        small = -_SAFE_INT < value < _SAFE_INT
        return str(value) if small else '{"int": "' + hex(value) + '"}'
    if type(value) is str:
        return _text(value)
    if type(value) is float:
        return '{"float": "' + repr(value) + '"}'
    if type(value) is complex:
        return '{"complex": ["' + repr(value.real) + '", "' + repr(value.imag) + '"]}'
    if type(value) is bytes:
        return '{"bytes": "' + value.hex() + '"}'
    raise WireError(f"a {_name(value)} is not a plain value")


def _text(value: str) -> str:
    if len(value) > MAX_SIZE:
        raise WireError(f"value is larger than {MAX_SIZE} characters")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        # JSON would read two lone surrogates in a row as one character.
        return '{"str": [' + ", ".join(str(ord(character)) for character in value) + "]}"
    return json.dumps(value)


def _name(value: object) -> str:
    """Name the type without asking the object, cut to a length that cannot flood a message."""
    name = type.__dict__["__name__"].__get__(type(value))
    return str(name)[:60]


def parse(text: str) -> object:
    """Read a text as JSON under the bounds of the form: no floats, no long numbers, no constants.

    Raises `WireError`.
    """
    if len(text) > MAX_SIZE:
        raise WireError(f"text is longer than {MAX_SIZE} characters")
    try:
        return json.loads(
            text,
            parse_int=_small_int,
            parse_float=_refuse,
            parse_constant=_refuse,
            object_pairs_hook=_one_key,
        )
    except RecursionError:
        raise WireError("text is nested too deeply") from None
    except WireError:
        raise
    except ValueError as error:
        raise WireError(f"not JSON: {error}"[:200]) from None


def _small_int(digits: str) -> int:
    if len(digits) > 17 or digits == "-0":
        raise WireError("a number that the form does not have")
    return int(digits)


def _refuse(text: str) -> object:
    raise WireError(f"a number that the form does not have: {text[:20]}")


def _one_key(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(pairs) != 1:
        raise WireError("an object without exactly one key")
    return dict(pairs)


def decode(text: str) -> object:
    """Read back what `encode` wrote; raises `WireError` for any other text."""
    return _value(parse(text), 0)


def _value(node: object, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise WireError(f"text is nested deeper than {MAX_DEPTH}")
    if type(node) is list:
        return [_value(item, depth + 1) for item in node]
    if type(node) is not dict:
        return node
    ((kind, body),) = node.items()
    if kind in _CONTAINERS:
        return _members(kind, body, depth)
    if kind == "dict":
        return _dict(body, depth)
    return _tagged(kind, body)


def _members(kind: str, body: object, depth: int) -> object:
    if type(body) is not list:
        raise WireError(f"a {kind} without a list of members")
    items = [_value(item, depth + 1) for item in body]
    try:
        made = _CONTAINERS[kind](items)
    except TypeError:
        raise WireError(f"a {kind} with a member that cannot be hashed") from None
    if len(made) != len(items):
        raise WireError(f"a {kind} with a member twice")
    return made


def _dict(body: object, depth: int) -> object:
    if type(body) is not list:
        raise WireError("a dict without a list of pairs")
    made = {}
    for pair in body:
        if type(pair) is not list or len(pair) != 2:
            raise WireError("a dict with something other than pairs")
        try:
            made[_value(pair[0], depth + 1)] = _value(pair[1], depth + 1)
        except TypeError:
            raise WireError("a dict with a key that cannot be hashed") from None
    if len(made) != len(body):
        raise WireError("a dict with a key twice")
    return made


def _tagged(kind: str, body: object) -> object:
    try:
        if kind == "int" and type(body) is str:
            return int(body, 16)
        if kind == "float" and type(body) is str:
            return float(body)
        if kind == "complex" and type(body) is list and len(body) == 2:
            return complex(float(body[0]), float(body[1]))
        if kind == "bytes" and type(body) is str:
            return bytes.fromhex(body)
        if kind == "str" and type(body) is list and all(type(code) is int for code in body):
            return "".join([chr(code) for code in body])
    except (ValueError, TypeError, OverflowError):
        raise WireError(f"a {kind} that cannot be read") from None
    raise WireError(f"an unknown type {kind[:40]!r}")
