"""Parse a file, whatever is in it."""

from __future__ import annotations

import ast
import contextlib
import gc
from collections.abc import Iterator

# The parser recurses in C and in Python; a file nested deeper than this is not written by people.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@contextlib.contextmanager
def without_gc() -> Iterator[None]:
    """Syntax trees are large and hold no cycles worth collecting: the collector only costs time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def parse(data: bytes) -> ast.Module | str:
    """The syntax tree of a file, or why it has none (a syntax error, null bytes, absurd nesting)."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other people's strings are not ours to tell
            return ast.parse(data)
    except _UNREADABLE as error:
        reason = getattr(error, "msg", None) or str(error) or type(error).__name__
        line = getattr(error, "lineno", None)
        return f"line {line}: {reason}" if line else str(reason)
