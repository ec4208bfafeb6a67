"""Which keys a dict holds that is spread into a call: displays, dict(...), and the changes made to it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pinproof.contract.scopes import Path, Scope, Step, dominates, exclusive
from pinproof.contract.values import Mapping, Values

if TYPE_CHECKING:
    from pinproof.contract.evaluate import Evaluator
    from pinproof.contract.position import Position

_OPEN = Mapping((), (), True)
_SOMETIMES = "the dict is one that holds it"


def display(evaluator: Evaluator, node: ast.Dict, at: Position) -> Mapping:
    """The keys of `{...}`."""
    found = Mapping(())
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found = merge(found, spread(evaluator, value, at))
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            found = merge(found, Mapping((key.value,)))
        else:
            found = merge(found, _OPEN)
    return found


def constructor(evaluator: Evaluator, node: ast.Call, at: Position) -> Mapping:
    """The keys of `dict(other, a=..., **more)`."""
    found = Mapping(())
    for argument in node.args:
        found = merge(found, spread(evaluator, argument, at))
    for keyword in node.keywords:
        more = Mapping((keyword.arg,)) if keyword.arg else spread(evaluator, keyword.value, at)
        found = merge(found, more)
    return found


def spread(evaluator: Evaluator, node: ast.expr, at: Position) -> Mapping:
    """The keys of any expression; open when it may be something else than a known dict."""
    if isinstance(node, ast.IfExp):
        test = ast.unparse(node.test)[:80]
        return _either(
            spread(evaluator, node.body, at), spread(evaluator, node.orelse, at), test, f"not {test}"
        )
    values = evaluator.value(node, at)
    known = [value for value in values if isinstance(value, Mapping)]
    if not known:
        return _OPEN
    found = known[0]
    for other in known[1:]:
        found = _either(found, other)
    return merge(found, _OPEN) if len(known) < len(values) else found


def merge(one: Mapping, other: Mapping) -> Mapping:
    """The keys of a dict after an update with another."""
    required = tuple(dict.fromkeys((*one.required, *other.required)))
    optional = tuple(dict.fromkeys(o for o in (*one.optional, *other.optional) if o[0] not in required))
    return Mapping(required, optional, one.open or other.open)


def _either(one: Mapping, other: Mapping, this: str = _SOMETIMES, that: str = _SOMETIMES) -> Mapping:
    """The keys of one dict or the other; `this` and `that` say when it is which."""
    required = tuple(key for key in one.required if key in other.required)
    only = [(key, this) for key in one.required if key not in required]
    only += [(key, that) for key in other.required if key not in required]
    optional = tuple(dict.fromkeys((*one.optional, *other.optional, *only)))
    return Mapping(required, optional, one.open or other.open)


def with_changes(
    evaluator: Evaluator, name: str, values: Values, scope: Scope, at: Position | None
) -> Values:
    """A local name's dicts with what statements before the use have put in."""
    if not any(isinstance(value, Mapping) for value in values):
        return values
    changed = list(values)
    for step in scope.steps:
        if at is not None and (step.order >= at.order or exclusive(step.path, at.path)):
            continue
        change = _change(evaluator, name, step, scope)
        if change is not None:
            conditional = at is None or not dominates(step.path, at.path)
            more = _under(change, step.path) if conditional else change
            changed = [merge(v, more) if isinstance(v, Mapping) else v for v in changed]
    return tuple(dict.fromkeys(changed))


def _under(change: Mapping, path: Path) -> Mapping:
    tests = [arm for arm in path if isinstance(arm.node, ast.If)]
    when = _SOMETIMES
    if tests:
        last = tests[-1]
        assert isinstance(last.node, ast.If)
        when = ("" if last.block == "body" else "not ") + ast.unparse(last.node.test)[:80]
    optional = (*change.optional, *((key, when) for key in change.required))
    return Mapping((), optional, change.open)


def _change(evaluator: Evaluator, name: str, step: Step, scope: Scope) -> Mapping | None:
    """What one statement adds to the dict `name`; None when it leaves it alone."""
    from pinproof.contract.position import Position

    node = step.node
    here = Position(scope, step.path, step.order)
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _is_name(target.value, name):
                key = target.slice
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    return Mapping((key.value,))
                return _OPEN
    if isinstance(node, ast.AugAssign) and _is_name(node.target, name):
        return spread(evaluator, node.value, here)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and _is_name(call.func.value, name):
            return constructor(evaluator, call, here) if call.func.attr == "update" else _OPEN
        if any(_is_name(argument, name) for argument in call.args):
            return _OPEN
    return None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
