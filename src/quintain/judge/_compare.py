"""Whether a claimed value is the expected one, decided on wire texts.

Invariant: types must be equal as well as values (``True`` is not ``1``, a tuple is not a list), and
nothing here hashes or calls a claimed value, so that no crafted claim makes the comparison slow.
``nan`` is equal to ``nan``, since otherwise a gold answer could not pass, and ``-0.0`` to ``0.0``.
"""

from __future__ import annotations

from quintain.judge.wire import WireError, parse

__all__ = ["equal"]


def equal(claim: str, expected: str, tolerance: float = 0.0) -> bool:
    """Compare two wire texts; ``tolerance`` is absolute and holds for floats alone.

    Members of sets and keys of dicts are compared exactly. Raises `WireError` when a text is not in
    the form.
    """
    try:
        return _same(parse(claim), parse(expected), tolerance)
    except RecursionError:
        raise WireError("text is nested too deeply") from None


def _same(left: object, right: object, tolerance: float) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(_same(a, b, tolerance) for a, b in pairs)
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return type(left) is type(right) and left == right
    (kind, a), (other, b) = _tag(left), _tag(right)
    if kind != other:
        return False
    if kind == "dict":
        ours, theirs = _entries(a), _entries(b)
        return len(ours) == len(theirs) and all(
            x[0] == y[0] and _same(x[1], y[1], tolerance)
            for x, y in zip(ours, theirs, strict=False)
        )
    if kind == "float" and tolerance > 0:
        return _number(a) == _number(b) or abs(_number(a) - _number(b)) <= tolerance
    if kind == "tuple":
        return _same(a, b, tolerance)
    return _canonical(left) == _canonical(right)


def _canonical(node: object) -> str:
    """Text of a node in which equal values of equal types read the same."""
    if isinstance(node, list):
        return "[" + ",".join([_canonical(item) for item in node]) + "]"
    if not isinstance(node, dict):
        return repr(node)
    kind, body = _tag(node)
    if kind in {"set", "frozenset"} and isinstance(body, list):
        return kind + "[" + ",".join(sorted([_canonical(item) for item in body])) + "]"
    if kind == "dict":
        entries = [key + ":" + _canonical(value) for key, value in _entries(body)]
        return "dict[" + ",".join(entries) + "]"
    if kind in {"float", "complex"}:
        parts = body if isinstance(body, list) else [body]
        return kind + repr([repr(_number(part) + 0.0) for part in parts])
    return kind + _canonical(body)


def _tag(node: dict[str, object]) -> tuple[str, object]:
    ((kind, body),) = node.items()
    return kind, body


def _entries(body: object) -> list[tuple[str, object]]:
    """Pairs of a dict as (text of the key, value), sorted by that text."""
    if not isinstance(body, list) or not all(isinstance(p, list) and len(p) == 2 for p in body):
        raise WireError("a dict with something other than pairs")
    return sorted([(_canonical(key), value) for key, value in body], key=lambda entry: entry[0])


def _number(body: object) -> float:
    if not isinstance(body, str) or len(body) > 40:
        raise WireError("a float that cannot be read")
    try:
        return float(body)
    except ValueError:
        raise WireError("a float that cannot be read") from None
