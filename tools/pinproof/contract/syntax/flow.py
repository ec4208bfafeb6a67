"""Which statements run before, after or instead of which, read from the branches they lie in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pinproof.contract.syntax.bindings import Arm, Binding, Path, Step
from pinproof.contract.syntax.nodes import dotted, own_nodes

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


_ENDS = {"sys.exit", "exit", "quit", "os._exit", "os.abort"}


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether every way through a block leaves it: by return, raise, continue, break or the program's end."""
    return any(_leaves(node) for node in body)


def _leaves(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and dotted(node.value.func) in _ENDS
    if isinstance(node, ast.If):
        return leaves(node.body) and leaves(node.orelse)
    if isinstance(node, ast.With | ast.AsyncWith):
        return leaves(node.body)
    if isinstance(node, ast.Try):
        main = leaves(node.body) or leaves(node.orelse)
        return leaves(node.finalbody) or (main and all(leaves(h.body) for h in node.handlers))
    return False


def fails(body: Sequence[ast.stmt]) -> bool:
    """Whether every way through a handler ends in an error or the program's end.

    A return, or an end that is not certain, takes the error in.
    """
    for node in body:
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Expr):
            if _leaves(node):
                return True
        elif isinstance(node, ast.If | ast.With | ast.AsyncWith | ast.Try):
            if _block_fails(node):
                return True
            if _escapes(node):
                return False
        elif _leaves(node) or _escapes(node):
            return False
    return False


def _block_fails(node: ast.If | ast.With | ast.AsyncWith | ast.Try) -> bool:
    if isinstance(node, ast.If):
        return fails(node.body) and fails(node.orelse)
    if isinstance(node, ast.Try):
        main = fails(node.body) or fails(node.orelse)
        return fails(node.finalbody) or (main and all(fails(h.body) for h in node.handlers))
    return fails(node.body)


def _escapes(node: ast.stmt) -> bool:
    """Whether a statement may leave the block other than by an error."""
    ways = (ast.Return, ast.Continue, ast.Break)
    return any(isinstance(child, ways) for child in own_nodes(node))


def decides(node: ast.stmt) -> bool:
    """Whether a statement decides if those after it run: an assert, an if or a try that may leave."""
    if isinstance(node, ast.If):
        return leaves(node.body) != leaves(node.orelse)
    if isinstance(node, ast.Try):
        return any(leaves(part) for part in (node.body, node.orelse, *(h.body for h in node.handlers)))
    return isinstance(node, ast.Assert)


def passed(steps: Sequence[Step], path: Path, order: int) -> Iterator[tuple[ast.expr, bool, Step]]:
    """The tests answered on the way to a statement: `if not probe: return` above it, and asserts.

    Args:
        steps: the statements of its scope that decide (see `decides`).
        path: the branches around it.
        order: its place in the order.
    """
    for step in steps:
        if step.order >= order or step.path != path[: len(step.path)]:
            continue
        node = step.node
        if isinstance(node, ast.Assert):
            yield node.test, True, step
        elif isinstance(node, ast.If) and not any(arm.node is node for arm in path):
            yield node.test, not leaves(node.body), step
