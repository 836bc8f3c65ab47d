"""What can be said about a submission before it runs: size, syntax, nesting.

Invariant: candidate text is parsed here but never compiled or run.
"""

from __future__ import annotations

import ast
import warnings

from quintain.types import CasesSpec

__all__ = ["source_of", "structure_fault"]

_LONGEST_EXPRESSION = 4096
_LONGEST_SOURCE = 200_000
_DEEPEST = 100


def structure_fault(spec: CasesSpec, text: str) -> str:
    """Say why a submission cannot be run, or return an empty text."""
    if not text.strip():
        return "empty"
    if not spec.expression:
        # Syntax is the business of the interpreter in the image, which may be another version.
        return f"longer than {_LONGEST_SOURCE} characters" if len(text) > _LONGEST_SOURCE else ""
    if len(text) > _LONGEST_EXPRESSION:
        return f"longer than {_LONGEST_EXPRESSION} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        return f"not an expression: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"not an expression: {type(error).__name__}"
    return f"nested deeper than {_DEEPEST}" if _depth(tree) > _DEEPEST else ""


def _depth(tree: ast.AST) -> int:
    """Depth of a syntax tree, without recursion."""
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return deepest


def source_of(spec: CasesSpec, text: str) -> str:
    """Return the module to run: the submission, or the function whose body is the expression."""
    if not spec.expression:
        return text
    # On lines of its own, so that a comment at its end does not swallow the bracket.
    parameters = ", ".join(spec.parameters)
    return f"def {spec.entry}({parameters}):\n    return (\n{text.strip()}\n    )\n"
