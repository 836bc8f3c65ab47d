"""The operations on a string that `string_expression` composes: code, meaning and wordings.

Invariant: ``apply`` means what ``code`` says. A test evaluates both on random strings; generation
itself trusts ``apply`` and never evaluates text.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["OPS", "Arg", "Op"]

Arg = int | str

LETTERS = tuple(string.ascii_lowercase)
CHARS = tuple(string.ascii_lowercase + string.digits)
MARKS = tuple("-_+*#!?.:/,;~=&%") + CHARS
SEPARATORS = tuple("-_+*#/:,.;")
SMALL = tuple(range(2, 10))


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One operation; its arguments are drawn from ``choices``."""

    name: str
    group: str
    """Operations of one group undo or repeat each other; a chain uses a group once."""
    code: str
    """``{x}`` is the string, ``{a}`` and ``{b}`` the arguments, ``{i}`` the first less one."""
    apply: Callable[..., object]
    seen: tuple[str, ...]
    """Wordings of both splits; ``{nth}`` is the first argument as an ordinal."""
    unseen: tuple[str, ...]
    """Wordings of the held-out split alone."""
    choices: tuple[tuple[Arg, ...], ...] = ()
    text: bool = True
    """The result is a string, so that another operation can follow."""
    tight: bool = True
    """The code binds tightly enough for an index or a method to follow without brackets."""

    @property
    def variants(self) -> int:
        """Number of different arguments."""
        count = 1
        for values in self.choices:
            count *= len(values)
        return count

    @property
    def once(self) -> bool:
        """The string occurs more than once in the code, so that it must be a plain name."""
        return self.code.count("{x}") > 1


def _op(
    name: str,
    group: str,
    code: str,
    apply: Callable[..., object],
    seen: tuple[str, ...],
    unseen: tuple[str, ...],
    *choices: tuple[Arg, ...],
    text: bool = True,
    tight: bool = True,
) -> Op:
    return Op(
        name=name,
        group=group,
        code=code,
        apply=apply,
        seen=seen,
        unseen=unseen,
        choices=choices,
        text=text,
        tight=tight,
    )


_CASE = (
    _op("upper", "case", "{x}.upper()", str.upper,
        ("make {x} upper case", "convert {x} to upper case"), ("put {x} in capital letters",)),
    _op("lower", "case", "{x}.lower()", str.lower,
        ("make {x} lower case", "convert {x} to lower case"), ("put {x} in small letters",)),
    _op("title", "case", "{x}.title()", str.title,
        ("make {x} title case", "convert {x} to title case"),
        ("start every word of {x} with a capital, as in a title",)),
    _op("swapcase", "case", "{x}.swapcase()", str.swapcase,
        ("swap the case of {x}", "swap upper and lower case in {x}"),
        ("turn small letters of {x} into capitals and capitals into small ones",)),
    _op("capitalize", "case", "{x}.capitalize()", str.capitalize,
        ("capitalize {x}", "capitalize the first letter of {x}"),
        ("give {x} one capital letter, at the start",)),
)  # fmt: skip

_ORDER = (
    _op("reverse", "order", "{x}[::-1]", lambda s: s[::-1],
        ("reverse {x}", "write {x} backwards"), ("turn {x} back to front",)),
    _op("sort", "order", "''.join(sorted({x}))", lambda s: "".join(sorted(s)),
        ("sort the characters of {x}", "put the characters of {x} in sorted order"),
        ("arrange the characters of {x} from lowest to highest",)),
)  # fmt: skip

_SPACE = (
    _op("strip", "ends", "{x}.strip()", str.strip,
        ("strip {x}", "strip spaces from both ends of {x}"), ("trim the blanks around {x}",)),
    _op("strip_char", "ends", "{x}.strip({a})", str.strip,
        ("strip {a} from both ends of {x}", "strip the character {a} from the ends of {x}"),
        ("trim every {a} around {x}",), CHARS),
    _op("remove", "remove", "{x}.replace({a}, '')", lambda s, a: s.replace(a, ""),
        ("remove every {a} from {x}", "delete all {a} from {x}"), ("drop each {a} in {x}",), CHARS),
    _op("fill_spaces", "remove", "{x}.replace(' ', {a})", lambda s, a: s.replace(" ", a),
        ("replace spaces in {x} with {a}", "replace every space of {x} by {a}"),
        ("put {a} wherever {x} has a space",), MARKS),
)  # fmt: skip

_PIECE = (
    _op("first", "piece", "{x}[:{a}]", lambda s, a: s[:a],
        ("take the first {a} characters of {x}", "keep only the first {a} characters of {x}"),
        ("cut {x} down to its leading {a} characters",), SMALL),
    _op("last", "piece", "{x}[-{a}:]", lambda s, a: s[-a:],
        ("take the last {a} characters of {x}", "keep only the last {a} characters of {x}"),
        ("cut {x} down to its trailing {a} characters",), SMALL),
    _op("skip_first", "piece", "{x}[{a}:]", lambda s, a: s[a:],
        ("skip the first {a} characters of {x}", "remove the first {a} characters of {x}"),
        ("leave out the leading {a} characters of {x}",), SMALL),
    _op("skip_last", "piece", "{x}[:-{a}]", lambda s, a: s[:-a],
        ("skip the last {a} characters of {x}", "remove the last {a} characters of {x}"),
        ("leave out the trailing {a} characters of {x}",), SMALL),
    _op("every_nth", "piece", "{x}[::{a}]", lambda s, a: s[::a],
        ("take every {nth} character of {x}", "keep every {nth} character of {x}"),
        ("walk through {x} in steps of {a} characters",), SMALL),
    _op("char_at", "piece", "{x}[{i}]", lambda s, a: s[a - 1],
        ("take the {nth} character of {x}", "get the {nth} character of {x}"),
        ("pick out character number {a} of {x}",), SMALL),
    _op("index", "piece", "{x}[{a}]", lambda s, a: s[a],
        ("take the character of {x} at index {a}", "get index {a} of {x}"),
        ("pick out what stands at index {a} of {x}",), SMALL),
    _op("from_end", "piece", "{x}[-{a}]", lambda s, a: s[-a],
        ("take the {nth} character from the end of {x}", "get the {nth} last character of {x}"),
        ("count back {a} from the end of {x} and pick that character",), SMALL),
    _op("before", "piece", "{x}.split({a})[0]", lambda s, a: s.split(a)[0],
        ("take the part of {x} before the first {a}", "keep what comes before {a} in {x}"),
        ("cut {x} off where {a} first appears",), CHARS),
    _op("after", "piece", "{x}.split({a})[-1]", lambda s, a: s.split(a)[-1],
        ("take the part of {x} after the last {a}", "keep what comes after the last {a} in {x}"),
        ("keep only what follows the final {a} of {x}",), CHARS),
    _op("first_word", "piece", "{x}.split()[0]", lambda s: s.split()[0],
        ("take the first word of {x}", "get the first word of {x}"),
        ("keep the leading word of {x}",)),
    _op("last_word", "piece", "{x}.split()[-1]", lambda s: s.split()[-1],
        ("take the last word of {x}", "get the last word of {x}"),
        ("keep the final word of {x}",)),
)  # fmt: skip

_GROW = (
    _op("repeat", "grow", "{x} * {a}", lambda s, a: s * a,
        ("repeat {x} {a} times", "write {x} {a} times"), ("give {a} copies of {x} in a row",),
        tuple(range(2, 13)), tight=False),
    _op("append", "grow", "{x} + {a}", lambda s, a: s + a,
        ("add {a} to the end of {x}", "append {a} to {x}"), ("put {a} after {x}",),
        MARKS, tight=False),
    _op("prepend", "grow", "{a} + {x}", lambda s, a: a + s,
        ("add {a} to the start of {x}", "prepend {a} to {x}"), ("put {a} in front of {x}",),
        MARKS, tight=False),
    _op("zfill", "grow", "{x}.zfill({a})", str.zfill,
        ("pad {x} with zeros to width {a}", "fill {x} with zeros up to {a} characters"),
        ("put zeros in front until {x} has {a} characters",), tuple(range(30, 60))),
    _op("surround", "grow", "{a} + {x} + {b}", lambda s, a, b: a + s + b,
        ("add {a} to the start and {b} to the end of {x}", "put {x} between {a} and {b}"),
        ("write {a}, then {x}, then {b} as one string",), MARKS, MARKS, tight=False),
    _op("ljust", "grow", "{x}.ljust({a}, {b})", str.ljust,
        ("pad {x} on the right with {b} to width {a}", "left-justify {x} to width {a} using {b}"),
        ("put {b} after {x} until it has {a} characters",), tuple(range(30, 60)), MARKS),
    _op("rjust", "grow", "{x}.rjust({a}, {b})", str.rjust,
        ("pad {x} on the left with {b} to width {a}", "right-justify {x} to width {a} using {b}"),
        ("put {b} before {x} until it has {a} characters",), tuple(range(30, 60)), MARKS),
    _op("center", "grow", "{x}.center({a}, {b})", str.center,
        ("center {x} to width {a} using {b}", "pad {x} on both sides with {b} to width {a}"),
        ("put {b} evenly around {x} until it has {a} characters",), tuple(range(30, 60)), MARKS),
)  # fmt: skip

_CHANGE = (
    _op("replace", "remove", "{x}.replace({a}, {b})", str.replace,
        ("replace {a} with {b} in {x}", "replace every {a} of {x} by {b}"),
        ("change each {a} of {x} into {b}",), CHARS, CHARS),
    _op("replace_first", "remove", "{x}.replace({a}, {b}, 1)", lambda s, a, b: s.replace(a, b, 1),
        ("replace the first {a} of {x} with {b}", "replace only the first {a} in {x} by {b}"),
        ("change {a} into {b} in {x}, once only",), CHARS, CHARS),
    _op("between", "piece", "{x}[{a}:{b}]", lambda s, a, b: s[a:b],
        ("take the slice of {x} from index {a} to {b}", "slice {x} from {a} up to {b}"),
        ("keep what lies from index {a} up to, not including, {b} in {x}",),
        tuple(range(1, 9)), tuple(range(9, 20))),
    _op("insert", "grow", "{x}[:{a}] + {b} + {x}[{a}:]", lambda s, a, b: s[:a] + b + s[a:],
        ("insert {b} after the first {a} characters of {x}", "insert {b} into {x} at index {a}"),
        ("squeeze {b} in behind character number {a} of {x}",), SMALL, MARKS, tight=False),
)  # fmt: skip

_MEASURE = (
    _op("length", "measure", "len({x})", len,
        ("give the length of {x}", "count the characters of {x}"),
        ("say how long {x} is",), text=False),
    _op("count_words", "measure", "len({x}.split())", lambda s: len(s.split()),
        ("count the words in {x}", "give the number of words in {x}"),
        ("say how many words {x} has",), text=False),
    _op("distinct", "measure", "len(set({x}))", lambda s: len(set(s)),
        ("count the distinct characters of {x}", "give the number of different characters in {x}"),
        ("say how many characters {x} has, each kind counted once",), text=False),
    _op("words", "measure", "{x}.split()", str.split,
        ("split {x} into words", "give the list of words in {x}"),
        ("break {x} up at its spaces",), text=False),
    _op("characters", "measure", "list({x})", list,
        ("split {x} into characters", "give the list of characters in {x}"),
        ("break {x} up into single characters",), text=False),
    _op("count", "measure", "{x}.count({a})", str.count,
        ("count {a} in {x}", "count how often {a} occurs in {x}"),
        ("say how many times {x} has {a}",), CHARS, text=False),
    _op("find", "measure", "{x}.find({a})", str.find,
        ("find {a} in {x}", "find the index of the first {a} in {x}"),
        ("say where {a} first stands in {x}, -1 if nowhere",), CHARS, text=False),
    _op("rfind", "measure", "{x}.rfind({a})", str.rfind,
        ("find the last {a} in {x}", "find the index of the last {a} in {x}"),
        ("say where {a} stands for the final time in {x}, -1 if nowhere",), CHARS, text=False),
    _op("contains", "measure", "{a} in {x}", lambda s, a: a in s,
        ("check if {x} contains {a}", "tell whether {a} is in {x}"),
        ("say if there is any {a} within {x}",), CHARS, text=False, tight=False),
    _op("startswith", "measure", "{x}.startswith({a})", str.startswith,
        ("check if {x} starts with {a}", "tell whether {x} starts with {a}"),
        ("say if {a} is how {x} begins",), CHARS, text=False),
    _op("endswith", "measure", "{x}.endswith({a})", str.endswith,
        ("check if {x} ends with {a}", "tell whether {x} ends with {a}"),
        ("say if {a} is how {x} closes",), CHARS, text=False),
    _op("split_at", "measure", "{x}.split({a})", str.split,
        ("split {x} at {a}", "split {x} on every {a}"),
        ("break {x} into a list wherever {a} stands",), CHARS, text=False),
    _op("count_two", "measure", "{x}.count({a}) + {x}.count({b})",
        lambda s, a, b: s.count(a) + s.count(b),
        ("count {a} and {b} in {x}", "count how often {a} or {b} occurs in {x}"),
        ("say how many times {x} has {a} plus how many times it has {b}",),
        CHARS, CHARS, text=False, tight=False),
)  # fmt: skip

OPS: tuple[Op, ...] = _CASE + _ORDER + _SPACE + _PIECE + _GROW + _CHANGE + _MEASURE
