"""What calling a function gives, as far as its own text says so: an object of a class, how many values."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from pinproof.contract.syntax.nodes import FunctionNode, annotation, dotted, own_nodes

# Generics whose argument is what a context manager's `with ... as x` gives, or an iteration yields.
_YIELDING = {"Iterator", "Generator", "Iterable", "ContextManager", "AbstractContextManager", "AsyncIterator"}


def gives(node: FunctionNode) -> str | None:
    """The name of what is returned (of what is yielded, for a generator).

    Returns:
        a dotted name in the function's own module: a class, or another function that is called;
        "self" or "cls" for the object or class it is called on; None when the text does not say.
    """
    declared = _declared(node.returns)
    if declared is not None:
        return declared
    returned, yielded = _values(node)
    names = {_made(value, node) for value in yielded or returned}
    return names.pop() if len(names) == 1 else None


def arity(node: FunctionNode) -> int | None:
    """How many values every call gives: the length of the tuple that each `return` shows; None: not known."""
    if isinstance(node, ast.AsyncFunctionDef):
        return None
    returned, yielded = _values(node)
    lengths = {_length(value) for value in returned}
    return lengths.pop() if len(lengths) == 1 and not yielded and _ends(node.body) else None


def _declared(node: ast.expr | None) -> str | None:
    text = annotation(node)
    if text is not None:
        return "self" if text.rpartition(".")[2] == "Self" else text
    if isinstance(node, ast.Subscript) and (dotted(node.value) or "").rpartition(".")[2] in _YIELDING:
        first = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        return _declared(first)
    return None


def _values(node: FunctionNode) -> tuple[list[ast.expr | None], list[ast.expr | None]]:
    """What the function returns and what it yields, functions inside it left out."""
    returned: list[ast.expr | None] = []
    yielded: list[ast.expr | None] = []
    for child in own_nodes(node):
        if isinstance(child, ast.Return):
            returned.append(child.value)
        elif isinstance(child, ast.Yield | ast.YieldFrom):
            yielded.append(child.value if isinstance(child, ast.Yield) else None)
    return returned, yielded


def _made(value: ast.expr | None, node: FunctionNode) -> str | None:
    first = next((a.arg for a in (*node.args.posonlyargs, *node.args.args)), None)
    if isinstance(value, ast.Name) and value.id == first == "self":
        return "self"
    if not isinstance(value, ast.Call):
        return None
    name = dotted(value.func)
    if name is not None and name.split(".")[0] in _bound_in(node):
        return "cls" if name == first == "cls" else None
    return name


def _bound_in(node: FunctionNode) -> Iterable[str]:
    """Names that mean something else inside the function than in its module."""
    args = node.args
    yield from (a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))
    yield from (a.arg for a in (args.vararg, args.kwarg) if a is not None)
    for child in own_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, FunctionNode | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.alias):
            yield (child.asname or child.name).split(".")[0]


def _length(value: ast.expr | None) -> int | None:
    if not isinstance(value, ast.Tuple) or any(isinstance(e, ast.Starred) for e in value.elts):
        return None
    return len(value.elts)


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a body never runs off its end, which would give None."""
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.With):
        return _ends(last.body)
    if isinstance(last, ast.Try):
        return _ends(last.finalbody or last.orelse or last.body) and all(_ends(h.body) for h in last.handlers)
    return False
