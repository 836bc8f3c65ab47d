"""Python source of others as syntax trees; nothing is compiled or run."""

from __future__ import annotations

import ast
import warnings

__all__ = ["parse"]


def parse(source: str) -> ast.Module:
    """Parse a module; raises `ValueError` for anything that is not one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes, which are not ours to mend
            return ast.parse(source)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"not Python: {error}") from error
