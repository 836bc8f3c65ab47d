"""How prompts of the families are framed: few-shot completion, or bare.

Invariant: the worked examples are problems that a family never generates (its ``WORKED``), so that
no prompt gives an answer away on either split.
"""

from __future__ import annotations

from quintain.errors import UserError
from quintain.interface import Interface, Parser

__all__ = ["bare_interface", "completion_interface"]

# Ends at a newline: small models finish such a text more reliably than one that ends at a colon.
_STRING = """\
# append '!' to s
s + '!'
# count the words in s
len(s.split())
# take the last 3 characters of s
s[-3:]
# {prompt}
"""
_NUMBER = """\
What is 6 plus 2?
8
What is 9 minus 5?
4
What is the largest of 4, 8 and 3?
8
{prompt}
"""
_COMPLETION = {
    "string_expression": (_STRING, Parser.FIRST_LINE, 48),
    "number_problems": (_NUMBER, Parser.LAST_NUMBER, 16),
}


def completion_interface(family: str) -> Interface:
    """Return the few-shot interface of a family, for models that only complete text.

    Raises `UserError` for a family without one.
    """
    if family not in _COMPLETION:
        raise UserError(
            f"no completion interface for family {family!r}", hint=f"one of {sorted(_COMPLETION)}"
        )
    template, parser, max_tokens = _COMPLETION[family]
    return Interface(
        name=f"completion/{family}", template=template, parser=parser, max_tokens=max_tokens
    )


def bare_interface(max_tokens: int = 48) -> Interface:
    """Return the interface of models trained from nothing: a line of prompt, then the answer."""
    return Interface(
        name="bare", template="{prompt}\n", parser=Parser.FIRST_LINE, max_tokens=max_tokens
    )
