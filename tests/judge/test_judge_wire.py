from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintain.judge import wire
from quintain.judge._compare import equal

_HASHABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(st.characters())  # lone surrogates included
    | st.binary(),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
PLAIN = st.recursive(
    _HASHABLE | st.sets(_HASHABLE, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(_HASHABLE, inner, max_size=3)
    ),
    max_leaves=10,
)


def same(left: object, right: object) -> bool:
    """Equality that sees types, nan and the sign of zero, written apart from the wire's own."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, complex) and isinstance(right, complex):
        return same(left.real, right.real) and same(left.imag, right.imag)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, set | frozenset) and isinstance(right, set | frozenset):
        rest = list(right)
        for item in left:
            found = [other for other in rest if same(item, other)]
            if not found:
                return False
            rest.remove(found[0])
        return not rest
    return left == right


@settings(deadline=None)
@given(PLAIN)
def test_decode_of_encode_is_the_value_with_its_types(value: object) -> None:
    assert same(wire.decode(wire.encode(value)), value)


@settings(deadline=None)
@given(PLAIN)
def test_a_wire_text_is_one_line_of_ascii(value: object) -> None:
    text = wire.encode(value)
    assert text.isascii()
    assert "\n" not in text


@settings(deadline=None)
@given(PLAIN, PLAIN)
def test_comparison_agrees_with_a_typed_equality_of_values(left: object, right: object) -> None:
    assert equal(wire.encode(left), wire.encode(left))
    if equal(wire.encode(left), wire.encode(right)):
        assert type(left) is type(right)
    if same(left, right):
        assert equal(wire.encode(left), wire.encode(right))


def test_integers_beyond_the_digit_limit_survive() -> None:
    value = 7**20_000
    assert wire.decode(wire.encode(value)) == value


def test_two_lone_surrogates_do_not_melt_into_one_character() -> None:
    value = "\ud83d" + "\ude00"
    assert len(str(wire.decode(wire.encode(value)))) == 2


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Items(list[int]):
    pass


class Liar:
    __class__ = int  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize(
    "value",
    [Text("a"), Number(1), Items([1]), Liar(), object(), len, range(3), [Text("a")], {1: Liar()}],
    ids=lambda value: type(value).__name__,
)
def test_anything_but_a_plain_value_is_refused_by_name(value: object) -> None:
    with pytest.raises(wire.WireError, match="is not a plain value"):
        wire.encode(value)


def test_the_refusal_names_the_real_type_of_a_liar() -> None:
    with pytest.raises(wire.WireError, match="Liar"):
        wire.encode(Liar())


def test_depth_and_size_are_bounded() -> None:
    deep: list[object] = []
    for _ in range(wire.MAX_DEPTH):
        deep = [deep]
    with pytest.raises(wire.WireError, match="deeper"):
        wire.encode(deep)
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(wire.WireError, match="deeper"):
        wire.encode(cycle)
    wide = [["x" * 1000] * 1000] * 10_000
    with pytest.raises(wire.WireError, match="larger"):
        wire.encode(wide)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nope",
        "NaN",
        "1.5",
        "1e5",
        "-0",
        "[" * 100_000,
        "9" * 5000,
        "{}",
        '{"set": [1, 1]}',
        '{"set": [[]]}',
        '{"set": 1}',
        '{"dict": [[1, 2], [1, 3]]}',
        '{"dict": [[[], 2]]}',
        '{"dict": [1]}',
        '{"tuple": 3}',
        '{"class": "os"}',
        '{"int": "zz"}',
        '{"float": []}',
        '{"str": ["a"]}',
        '{"str": [1114112]}',
        '{"tuple": [], "set": []}',
        '{"tuple": [], "tuple": []}',
    ],
    ids=lambda text: text[:30],
)
def test_a_text_outside_the_form_is_refused(text: str) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (1, 1.0),
        ((1,), [1]),
        ({1}, frozenset({1})),
        ("1", 1),
        (b"a", "a"),
        ([1, 2], [1]),
        ([1], [1, 2]),
        ({1: 2}, {1: 3}),
        ({True: 2}, {1: 2}),
        (float("nan"), 1.5),
        (float("inf"), float("-inf")),
        ({1, 2}, {1}),
        (10**9 + 7, 10**9 + 8),
        (2**60, 2**60 + 1),
    ],
)
def test_values_that_differ_in_type_or_value_are_unequal(left: object, right: object) -> None:
    assert not equal(wire.encode(left), wire.encode(right))
    assert not equal(wire.encode(right), wire.encode(left), 1e-9)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({1: 2, 3: 4}, {3: 4, 1: 2}),
        (float("nan"), float("nan")),
        ([0.0], [-0.0]),
        ({"a", "b"}, {"b", "a"}),
    ],
)
def test_order_of_a_dict_and_the_sign_of_zero_do_not_matter(left: object, right: object) -> None:
    assert equal(wire.encode(left), wire.encode(right))


def test_tolerance_holds_for_floats_and_not_for_integers() -> None:
    assert equal(wire.encode([1.0000001]), wire.encode([1.0]), 1e-6)
    assert not equal(wire.encode([1.001]), wire.encode([1.0]), 1e-6)
    assert not equal(wire.encode(2), wire.encode(1), 5.0)
    assert not equal(wire.encode(float("inf")), wire.encode(0.0), 0.5)
    assert not equal(wire.encode(float("nan")), wire.encode(0.0), 0.5)
    assert equal(wire.encode(float("inf")), wire.encode(float("inf")), 0.5)


def test_a_claimed_set_of_colliding_hashes_does_not_slow_the_comparison() -> None:
    prime = (1 << 61) - 1
    members = ", ".join(f'{{"int": "{hex(prime * k)}"}}' for k in range(1, 20_000))
    assert not equal(f'{{"set": [{members}]}}', wire.encode({1}))


def test_a_deeply_nested_claim_is_refused_rather_than_crashing() -> None:
    text = '{"tuple": [' * 900 + "]}" * 900
    with pytest.raises(wire.WireError):
        equal(text + "x", wire.encode(()))
    with contextlib.suppress(wire.WireError):
        assert not equal(text, wire.encode(()))


_TAGS = ["int", "float", "complex", "bytes", "str", "tuple", "set", "frozenset", "dict", "other"]
_NODES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_TAGS), inner, max_size=2)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(_NODES, PLAIN, st.sampled_from([0.0, 0.5]))
def test_hostile_texts_are_compared_or_refused_and_nothing_else(
    node: object, value: object, tolerance: float
) -> None:
    text = json.dumps(node)
    with contextlib.suppress(wire.WireError):
        equal(text, wire.encode(value), tolerance)
    with contextlib.suppress(wire.WireError):
        wire.decode(text)
