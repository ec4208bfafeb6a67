"""Which statements run before, after or instead of which, read from the branches they lie in."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pinproof.contract.syntax.bindings import Arm, Binding, Path
from pinproof.contract.syntax.nodes import dotted

PARENTS = {
    "ImportError": ("ImportError", "Exception", "BaseException"),
    "ModuleNotFoundError": ("ModuleNotFoundError", "ImportError", "Exception", "BaseException"),
    "AttributeError": ("AttributeError", "Exception", "BaseException"),
    "TypeError": ("TypeError", "Exception", "BaseException"),
    "ValueError": ("ValueError", "Exception", "BaseException"),
}


def exclusive(one: Path, other: Path) -> bool:
    """Whether two statements lie in branches of one `if` or `match` of which only one runs."""
    for a, b in zip(one, other, strict=False):
        if a.node is not b.node:
            return False
        if a.block != b.block or a.handler is not b.handler:
            return isinstance(a.node, ast.If | ast.Match)
    return False


def dominates(path: Path, use: Path) -> bool:
    """Whether a statement at `path`, standing before one at `use`, has always run before it."""
    certain = [arm for arm in path if not isinstance(arm.node, ast.With | ast.AsyncWith)]
    around = [arm for arm in use if not isinstance(arm.node, ast.With | ast.AsyncWith)]
    return len(certain) <= len(around) and all(
        a.node is b.node and a.block == b.block and a.handler is b.handler
        for a, b in zip(certain, around, strict=False)
    )


def reaching(bindings: Sequence[Binding], path: Path, order: int) -> list[Binding]:
    """The bindings of a name whose value a use at (`path`, `order`) in the same scope may see."""
    loops = {id(arm.node) for arm in path if isinstance(arm.node, ast.For | ast.AsyncFor | ast.While)}
    seen: list[Binding] = []
    for binding in bindings:
        later = binding.order >= order
        if later and not any(id(arm.node) in loops for arm in binding.path):
            continue
        if exclusive(binding.path, path) and not loops:
            continue
        if not later and binding.kind != "put" and dominates(binding.path, path):
            seen = [kept for kept in seen if kept.order >= order]
        seen.append(binding)
    return seen


def catches(handler: ast.ExceptHandler, *errors: str) -> bool:
    """Whether an except clause catches one of the named built-in exceptions."""
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {(dotted(t) or "").rsplit(".", 1)[-1] for t in types}
    return any(parent in names for error in errors for parent in PARENTS.get(error, (error,)))


def is_fallback(path: Path) -> bool:
    """Whether a statement runs only after an import or a lookup has failed."""
    return any(
        arm.handler is not None and catches(arm.handler, "ImportError", "AttributeError") for arm in path
    )


def is_type_checking(arm: Arm) -> bool:
    """Whether a branch is only there for type checkers."""
    return isinstance(arm.node, ast.If) and arm.block == "body" and (
        (dotted(arm.node.test) or "").rpartition(".")[2] == "TYPE_CHECKING"
    )  # fmt: skip
