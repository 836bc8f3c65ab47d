"""How prompts of the families are framed: few-shot completion, or bare.

Invariant: the worked examples are problems that a family never generates (its ``WORKED``), so that
no prompt gives an answer away on either split.
"""

from __future__ import annotations

from quintain.errors import UserError
from quintain.interface import Interface, Parser

__all__ = ["bare_interface", "completion_interface"]

# A small model that only completes text writes an expression after `return`, where after a comment
# alone it would rather assign to s.
_STRING = """\
# append '!' to s
return s + '!'
# count the words in s
return len(s.split())
# take the last 3 characters of s
return s[-3:]
# {prompt}
return"""
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
    "string_expression": (_STRING, Parser.FIRST_LINE, 48, " "),
    "number_problems": (_NUMBER, Parser.LAST_NUMBER, 16, ""),
}


def completion_interface(family: str) -> Interface:
    """Return the few-shot interface of a family, for models that only complete text.

    Raises `UserError` for a family without one.
    """
    if family not in _COMPLETION:
        raise UserError(
            f"no completion interface for family {family!r}", hint=f"one of {sorted(_COMPLETION)}"
        )
    template, parser, max_tokens, lead = _COMPLETION[family]
    return Interface(
        name=f"completion/{family}",
        template=template,
        parser=parser,
        max_tokens=max_tokens,
        lead=lead,
    )


def bare_interface(max_tokens: int = 48) -> Interface:
    """Return the interface of models trained from nothing: a line of prompt, then the answer."""
    return Interface(
        name="bare", template="{prompt}\n", parser=Parser.FIRST_LINE, max_tokens=max_tokens
    )
