"""What keeps a failing call from running: handlers, probes, version tests, other platforms' branches."""

from __future__ import annotations

import ast

from pinproof.contract.signatures import dotted

_PARENTS = {
    "ImportError": ("ImportError", "Exception", "BaseException"),
    "ModuleNotFoundError": ("ModuleNotFoundError", "ImportError", "Exception", "BaseException"),
    "AttributeError": ("AttributeError", "Exception", "BaseException"),
    "TypeError": ("TypeError", "Exception", "BaseException"),
}


def catches(handler: ast.ExceptHandler, *errors: str) -> bool:
    """Whether an except clause catches one of the named built-in exceptions."""
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {(dotted(t) or "").rsplit(".", 1)[-1] for t in types}
    return any(parent in names for error in errors for parent in _PARENTS.get(error, (error,)))
