"""Which keys a dict holds that is spread into a call: displays, dict(...), and the changes made to it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import NONE, UNKNOWN, Items, Mapping, Unknown, Value, Values, When
from pinproof.contract.syntax.bindings import Binding, Step, own_expressions
from pinproof.contract.syntax.flow import dominates, exclusive
from pinproof.contract.syntax.scopes import Scope

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator

_OPEN = Mapping((), (), True)
_SOMETIMES = When("the dict is one that holds it")
_READING = {"get", "items", "keys", "values", "copy"}


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


def comprehension(node: ast.DictComp) -> Mapping:
    """The keys of `{k: v for k, v in (("a", x), ("b", y)) if v is not None}`: a literal's, if it is one."""
    keys = _literal_keys(node)
    if keys is None:
        return _OPEN
    tests = " and ".join(ast.unparse(test) for test in node.generators[0].ifs)[:80]
    return Mapping((), tuple((key, When(tests)) for key in keys)) if tests else Mapping(keys)


def _literal_keys(node: ast.DictComp) -> tuple[str, ...] | None:
    generator = node.generators[0]
    names = generator.target.elts if isinstance(generator.target, ast.Tuple) else [generator.target]
    rows = generator.iter.elts if isinstance(generator.iter, ast.Tuple | ast.List) else []
    if len(node.generators) > 1 or not rows or not isinstance(node.key, ast.Name):
        return None
    places = [n for n, name in enumerate(names) if isinstance(name, ast.Name) and name.id == node.key.id]
    if len(places) != 1:
        return None
    alone = not isinstance(generator.target, ast.Tuple)
    found: list[str] = []
    for row in rows:
        cells = [row] if alone else row.elts if isinstance(row, ast.Tuple | ast.List) else []
        if len(cells) != len(names) or any(isinstance(cell, ast.Starred) for cell in cells):
            return None
        key = cells[places[0]]
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return None
        found.append(key.value)
    return tuple(dict.fromkeys(found))


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
        text = ast.unparse(node.test)[:80]
        this, that = (
            Position(at.scope, at.path, at.order, (*at.when, (node.test, answer, node.lineno)))
            for answer in (True, False)
        )
        one, other = spread(evaluator, node.body, this), spread(evaluator, node.orelse, that)
        return _either(one, other, When(text, this), When(f"not {text}", that))
    found_values = evaluator.value(node, at)
    values: Values = tuple(v for v in found_values if v != NONE and not isinstance(v, Items))
    if isinstance(node, ast.Name) and node.id in at.scope.bindings and at.scope.parent is not None:
        values = with_changes(evaluator, node.id, values or UNKNOWN, at.scope, at, at.scope.bindings[node.id])
    elif isinstance(node, ast.Name | ast.Attribute):
        last = node.id if isinstance(node, ast.Name) else node.attr
        if last in at.scope.file.shrunk():
            return _OPEN
    known = [value for value in values if isinstance(value, Mapping)]
    if not known or len(known) < len(values):
        return _OPEN
    found = known[0]
    for other in known[1:]:
        found = _either(found, other)
    return Mapping(found.required, (), True) if found.open and len(known) > 1 else found


def merge(one: Mapping, other: Mapping) -> Mapping:
    """The keys of a dict after an update with another."""
    required = tuple(dict.fromkeys((*one.required, *other.required)))
    optional = tuple(dict.fromkeys(o for o in (*one.optional, *other.optional) if o[0] not in required))
    return Mapping(required, optional, one.open or other.open)


def _either(one: Mapping, other: Mapping, this: When = _SOMETIMES, that: When = _SOMETIMES) -> Mapping:
    """The keys of one dict or the other; `this` and `that` say when it is which."""
    required = tuple(key for key in one.required if key in other.required)
    only = [(key, this) for key in one.required if key not in required]
    only += [(key, that) for key in other.required if key not in required]
    optional = tuple(dict.fromkeys((*one.optional, *other.optional, *only)))
    return Mapping(required, optional, one.open or other.open)


class _Taken(NamedTuple):
    """What a statement takes out of a dict: one key, or, for None, nobody knows which."""

    key: str | None


def with_changes(
    evaluator: Evaluator,
    name: str,
    values: Values,
    scope: Scope,
    at: Position | None,
    bindings: Iterable[Binding],
) -> Values:
    """A local name's dicts with what statements between its bindings and the use have put in or taken out."""
    orders = [b.order for b in bindings if b.kind != "put" and (at is None or b.order < at.order)] or [-1]
    changed: list[Value] = list(values)
    for step in scope.steps:
        if step.order <= min(orders):
            continue
        if at is not None and (step.order >= at.order or exclusive(step.path, at.path)):
            continue
        change = _change(evaluator, name, step, scope)
        if change is not None:
            # `kw |= {...}` is itself the last binding, and changes what the one before it gave.
            certain = at is not None and step.order >= max(orders) and dominates(step.path, at.path)
            here = Position(scope, step.path, step.order)
            changed = [_apply(v, change, here, certain) for v in changed]
    return tuple(dict.fromkeys(changed))


def _apply(value: Value, change: Mapping | _Taken, at: Position, certain: bool) -> Value:
    if isinstance(value, Unknown):
        value = _OPEN
    if not isinstance(value, Mapping):
        return value
    if isinstance(change, Mapping):
        return merge(value, change if certain else _under(change, at))
    if change.key is None:
        return _OPEN
    required = tuple(k for k in value.required if k != change.key)
    optional = tuple(o for o in value.optional if o[0] != change.key)
    return Mapping(required, optional, value.open or not certain)


def _under(change: Mapping, at: Position) -> Mapping:
    tests = [arm for arm in at.path if isinstance(arm.node, ast.If)]
    text = _SOMETIMES.text
    if tests:
        last = tests[-1]
        assert isinstance(last.node, ast.If)
        text = ("" if last.block == "body" else "not ") + ast.unparse(last.node.test)[:80]
    when = When(text, at)
    optional = (*change.optional, *((key, when) for key in change.required))
    return Mapping((), optional, change.open)


def _change(evaluator: Evaluator, name: str, step: Step, scope: Scope) -> Mapping | _Taken | None:
    """What one statement does to the dict `name`; None when it leaves it alone."""
    node = step.node
    here = Position(scope, step.path, step.order)
    if isinstance(node, ast.Assign):
        if _is_name(node.value, name):
            return _Taken(None)  # under its other name anything may happen to it
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _is_name(target.value, name):
                key = _constant(target.slice)
                return _OPEN if key is None else Mapping((key,))
    if isinstance(node, ast.AugAssign) and _is_name(node.target, name):
        return spread(evaluator, node.value, here)
    if isinstance(node, ast.Delete):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _is_name(target.value, name):
                return _Taken(_constant(target.slice))
    for expression in own_expressions(node):
        for call in ast.walk(expression):
            if isinstance(call, ast.Call):
                found = _by_call(evaluator, name, call, here)
                if found is not None:
                    return found
    return None


def _by_call(evaluator: Evaluator, name: str, call: ast.Call, at: Position) -> Mapping | _Taken | None:
    """What `name.update(...)`, `name.pop("key")` or `helper(name)` does to the dict `name`."""
    if isinstance(call.func, ast.Attribute) and _is_name(call.func.value, name):
        method, key = call.func.attr, _constant(call.args[0]) if call.args else None
        if method in _READING:
            return None
        if method == "update":
            return constructor(evaluator, call, at)
        if method == "setdefault" and key is not None:
            return Mapping((key,))
        return _Taken(key if method == "pop" else None)
    handed = (*call.args, *(k.value for k in call.keywords if k.arg is not None))
    if any(_is_name(argument, name) for argument in handed) and not _only_reads(call.func):
        return _Taken(None)
    return None


def _only_reads(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id in ("dict", "len", "list", "print", "str", "repr")


def _constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
