"""How `number_problems` says things: wordings of both splits, and of the held-out split alone."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LINKS", "NAMES", "STORIES", "THINGS", "WORDINGS", "Wordings"]

NAMES = ("Ada", "Ben", "Carla", "Deniz", "Emil", "Farah", "Goran", "Hana", "Ines", "Jonas")
THINGS = ("apples", "books", "coins", "cards", "shells", "pens", "stones", "tickets", "beads")


@dataclass(frozen=True, slots=True)
class Wordings:
    """Templates over the numbers ``{0}`` …, ``{who}`` and ``{things}``."""

    name: str
    seen: tuple[str, ...]
    unseen: tuple[str, ...]


WORDINGS = {
    "add": Wordings(
        "add",
        (
            "What is {0} plus {1}?",
            "{0} + {1} = ?",
            "{who} has {0} {things} and gets {1} more. How many {things} now?",
            "Add {0} and {1}.",
        ),
        (
            "What is the sum of {0} and {1}?",
            "There are {0} {things} in one box and {1} in another. How many in both?",
        ),
    ),
    "subtract": Wordings(
        "subtract",
        (
            "What is {0} minus {1}?",
            "{0} - {1} = ?",
            "{who} has {0} {things} and gives away {1}. How many {things} are left?",
            "Subtract {1} from {0}.",
        ),
        (
            "What is the difference between {0} and {1}?",
            "Of {0} {things}, {1} are sold. How many remain?",
        ),
    ),
    "largest": Wordings(
        "largest",
        ("What is the largest of {0}, {1} and {2}?", "Which is the biggest: {0}, {1} or {2}?"),
        ("Give the maximum of {0}, {1} and {2}.",),
    ),
    "multiply": Wordings(
        "multiply",
        (
            "What is {0} times {1}?",
            "{0} * {1} = ?",
            "There are {0} bags with {1} {things} each. How many {things} in all?",
            "Multiply {0} by {1}.",
        ),
        (
            "What is the product of {0} and {1}?",
            "{who} fills {0} boxes, {1} {things} in each. How many {things} is that?",
        ),
    ),
    "price": Wordings(
        "price",
        (
            "One ticket costs {1}. What do {0} tickets cost?",
            "{who} buys {0} pens at {1} each. How much is that?",
        ),
        ("At {1} apiece, what is the price of {0} cards?",),
    ),
    "left_over": Wordings(
        "left_over",
        (
            "{who} has {0} {things}, finds {1} more and shares them equally among {2} friends. "
            "How many {things} are left over?",
            "What is the remainder of {0} plus {1} when divided by {2}?",
        ),
        ("Pack {0} and {1} {things} into bags of {2}. How many do not fit into a full bag?",),
    ),
}

LINKS: dict[tuple[str, ...], Wordings] = {
    ("add",): Wordings("add", ("add {0}",), ("go up by {0}",)),
    ("subtract",): Wordings("subtract", ("subtract {0}",), ("go down by {0}",)),
    ("multiply",): Wordings("multiply", ("multiply by {0}",), ("take it {0} times",)),
    ("add", "add"): Wordings(
        "add_add",
        ("What is {0} plus {1} plus {2}?", "Add {1} to {0}, then add {2}."),
        ("Sum up {0}, {1} and {2}.",),
    ),
    ("add", "subtract"): Wordings(
        "add_subtract",
        ("What is {0} plus {1} minus {2}?", "Add {1} to {0}, then subtract {2}."),
        ("Take {2} away from the sum of {0} and {1}.",),
    ),
    ("add", "multiply"): Wordings(
        "add_multiply",
        ("What is ({0} + {1}) * {2}?", "Add {1} to {0}, then multiply by {2}."),
        ("What is {2} times the sum of {0} and {1}?",),
    ),
    ("subtract", "add"): Wordings(
        "subtract_add",
        ("What is {0} minus {1} plus {2}?", "Subtract {1} from {0}, then add {2}."),
        ("Take {1} away from {0} and put {2} back.",),
    ),
    ("subtract", "subtract"): Wordings(
        "subtract_subtract",
        ("What is {0} minus {1} minus {2}?", "Subtract {1} from {0}, then subtract {2}."),
        ("Take both {1} and {2} away from {0}.",),
    ),
    ("subtract", "multiply"): Wordings(
        "subtract_multiply",
        ("What is ({0} - {1}) * {2}?", "Subtract {1} from {0}, then multiply by {2}."),
        ("What is {2} times the difference of {0} and {1}?",),
    ),
    ("multiply", "add"): Wordings(
        "multiply_add",
        ("What is {0} times {1} plus {2}?", "Multiply {0} by {1}, then add {2}."),
        ("What is {2} more than the product of {0} and {1}?",),
    ),
    ("multiply", "subtract"): Wordings(
        "multiply_subtract",
        ("What is {0} times {1} minus {2}?", "Multiply {0} by {1}, then subtract {2}."),
        ("What is {2} less than the product of {0} and {1}?",),
    ),
}

STORIES: dict[tuple[str, ...], Wordings] = {
    ("add", "add"): Wordings(
        "story_add_add",
        (
            "{who} has {0} {things}, finds {1} more and is given {2}. How many {things} now?",
            "A shelf holds {0} {things}. {who} adds {1}, later {2}. How many does it hold?",
        ),
        ("On Monday {who} counts {0} {things}, on Tuesday {1}, on Friday {2}. How many in all?",),
    ),
    ("add", "subtract"): Wordings(
        "story_add_subtract",
        (
            "{who} has {0} {things}, finds {1} more and loses {2}. How many {things} now?",
            "A shop has {0} {things}, gets {1} and sells {2}. How many are left?",
        ),
        ("To {0} {things} come {1}, and {who} takes {2} of them home. How many stay?",),
    ),
    ("add", "multiply"): Wordings(
        "story_add_multiply",
        (
            "A bag has {0} red and {1} blue {things}. How many {things} are in {2} such bags?",
            "Each day {who} makes {0} {things} before noon and {1} after it. How many in {2} days?",
        ),
        ("{who} packs {0} large and {1} small {things} into each of {2} boxes. How many in all?",),
    ),
    ("subtract", "add"): Wordings(
        "story_subtract_add",
        (
            "{who} has {0} {things}, loses {1} and finds {2}. How many {things} now?",
            "A shop has {0} {things}, sells {1} and gets {2} new ones. How many are there?",
        ),
        ("Of {0} {things} {who} gives {1} away; {2} come back. How many does {who} own?",),
    ),
    ("subtract", "subtract"): Wordings(
        "story_subtract_subtract",
        (
            "{who} has {0} {things}, gives away {1} and loses {2}. How many {things} are left?",
            "A shop has {0} {things}. It sells {1}, then {2} more. How many are left?",
        ),
        ("From {0} {things} {who} takes {1} today and {2} tomorrow. How many stay?",),
    ),
    ("subtract", "multiply"): Wordings(
        "story_subtract_multiply",
        (
            "A box has {0} {things} and {1} are broken. How many good ones are in {2} such boxes?",
            "{who} makes {0} {things} a day and keeps all but {1}. How many are kept in {2} days?",
        ),
        ("Each of {2} bags held {0} {things} until {1} fell out of each. How many remain?",),
    ),
    ("multiply", "add"): Wordings(
        "story_multiply_add",
        (
            "{who} has {0} bags of {1} {things} and {2} loose ones. How many {things} in all?",
            "There are {0} rows of {1} {things}, and {2} more. How many {things}?",
        ),
        ("Besides {2} single {things}, {who} owns {0} sets of {1}. How many {things} is that?",),
    ),
    ("multiply", "subtract"): Wordings(
        "story_multiply_subtract",
        (
            "{who} has {0} bags of {1} {things} and gives away {2} {things}. How many are left?",
            "There are {0} rows of {1} {things}; {2} are taken. How many remain?",
        ),
        ("Out of {0} boxes with {1} {things} each, {who} sells {2} {things}. How many stay?",),
    ),
}
