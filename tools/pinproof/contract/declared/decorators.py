"""What a decorator does to the signature of the function it is put on, read from the decorator's own text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pinproof.contract.declared.parameters import parameters
from pinproof.contract.declared.summary import Wrapper
from pinproof.contract.model import Parameter
from pinproof.contract.syntax.nodes import FunctionNode, dotted, own_nodes, statements

_KEEPS = Wrapper()
# Methods that change a dict in place.
_MUTATING = {"pop", "popitem", "clear", "update", "setdefault"}


def effect(node: FunctionNode) -> Wrapper | None:
    """What `node`, used as a decorator or called to make one, leaves of a signature.

    Returns:
        the keywords it adds (none: it keeps the signature), or None when that cannot be read.
    """
    inner = {child.name: child for child in _defs(node)}
    found: list[Wrapper] = []
    for value in _returned(node):
        outcome = _of_value(value, node, inner)
        if outcome == "unknown":
            return None
        if isinstance(outcome, Wrapper):
            found.append(outcome)
    if not found:
        return None
    adds = {p.name: p for wrapper in found for p in wrapper.adds}
    return Wrapper(adds=tuple(adds.values()))


def _defs(node: FunctionNode) -> Iterator[FunctionNode]:
    return (step for step in statements(node.body) if isinstance(step, FunctionNode))


def _returned(node: FunctionNode) -> Iterator[ast.expr]:
    for step in statements(node.body):
        if isinstance(step, ast.Return) and step.value is not None:
            yield step.value


def _of_value(value: ast.expr, node: FunctionNode, inner: dict[str, FunctionNode]) -> Wrapper | str:
    """The effect of returning `value`; "maybe" when it is some helper's view of the function."""
    own = {a.arg for a in (*node.args.posonlyargs, *node.args.args)}
    if isinstance(value, ast.Name):
        if value.id in own:
            return _KEEPS
        return _of_def(inner[value.id]) if value.id in inner else "unknown"
    if isinstance(value, ast.Lambda):
        return _of_lambda(value)
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name) and value.func.id in inner:
            return _of_def(inner[value.func.id])
        given = [a.id for a in value.args if isinstance(a, ast.Name) and a.id in inner]
        if given:
            return _of_def(inner[given[-1]])
        if any(isinstance(a, ast.Name) and a.id in own for a in value.args):
            return "maybe"
    return "unknown"


def _of_lambda(value: ast.Lambda) -> Wrapper | str:
    names = [a.arg for a in value.args.args]
    if isinstance(value.body, ast.Name) and value.body.id in names:
        return _KEEPS
    called = value.body.args if isinstance(value.body, ast.Call) else []
    return "maybe" if any(isinstance(a, ast.Name) and a.id in names for a in called) else "unknown"


def _of_def(node: FunctionNode) -> Wrapper | str:
    if node.args.vararg and node.args.kwarg:
        return _of_wrapper(node)
    return effect(node) or "unknown"


def _of_wrapper(node: FunctionNode) -> Wrapper | str:
    """The effect of an inner `def wrapper(*args, **kwargs)`: which keywords it keeps for itself."""
    star, stars = node.args.vararg, node.args.kwarg
    assert star is not None
    assert stars is not None
    adds = {p.name: p for p in parameters(node.args) if p.kind == "keyword-only"}
    leading = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    hands = False
    if _rewrites(node, {star.arg, stars.arg}):
        return "unknown"
    for child in own_nodes(node):
        if not isinstance(child, ast.Call):
            continue
        if _hands_on(child, leading, star.arg, stars.arg):
            hands = True
        popped = _popped(child, stars.arg)
        if popped is not None:
            adds[popped] = Parameter(popped, "keyword-only", True)
    return Wrapper(adds=tuple(adds.values())) if hands else "unknown"


def _hands_on(call: ast.Call, leading: list[str], star: str, stars: str) -> bool:
    """Whether a call passes `leading..., *star, **stars` and nothing before them."""
    names = [
        a.value.id if isinstance(a, ast.Starred) and isinstance(a.value, ast.Name) else
        a.id if isinstance(a, ast.Name) else ""
        for a in call.args
    ]  # fmt: skip
    spread = [k.value.id for k in call.keywords if k.arg is None and isinstance(k.value, ast.Name)]
    return names == [*leading, star] and spread == [stars] and len(call.keywords) == 1


def _rewrites(node: FunctionNode, given: set[str]) -> bool:
    """Whether a wrapper binds `args` or `kwargs` anew, puts keys in, or takes out keys it does not name."""
    for child in own_nodes(node):
        if isinstance(child, ast.Name):
            changes = child.id in given and not isinstance(child.ctx, ast.Load)
        elif isinstance(child, ast.Subscript):
            changes = dotted(child.value) in given and not isinstance(child.ctx, ast.Load)
        elif isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute):
            name = dotted(child.func.value)
            changes = name in given and child.func.attr in _MUTATING and _popped(child, name or "") is None
        else:
            continue
        if changes:
            return True
    return False


def _popped(call: ast.Call, stars: str) -> str | None:
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "pop" and call.args):
        return None
    key = call.args[0]
    if dotted(call.func.value) == stars and isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    return None
