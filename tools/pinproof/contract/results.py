"""What a call gives: modules from getters, objects from constructors, functions from factories."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pinproof.contract import dicts
from pinproof.contract.attributes import library_value
from pinproof.contract.scopes import Scope
from pinproof.contract.summary import Class, Function
from pinproof.contract.values import (
    NONE,
    UNKNOWN,
    Absent,
    Constant,
    EngineClass,
    EngineFunction,
    EngineInstance,
    External,
    LibraryInstance,
    LibraryMember,
    OpenMember,
    Partial,
    Unknown,
    Value,
    Values,
    union,
)  # fmt: skip

if TYPE_CHECKING:
    from pinproof.contract.evaluate import Evaluator, Position


def result(evaluator: Evaluator, callee: Value, node: ast.Call, at: Position) -> Values:
    """What calling `callee` with the arguments of `node` gives."""
    if isinstance(callee, External):
        return _external(evaluator, callee.name, node, at)
    if isinstance(callee, LibraryMember):
        return _of_library(callee)
    if isinstance(callee, EngineClass):
        return (EngineInstance(callee),)
    if isinstance(callee, EngineFunction):
        return returned(evaluator, callee, parameters(evaluator, callee, node, at))
    if isinstance(callee, OpenMember):
        return (OpenMember(callee.library, f"{callee.path}()", callee.reason),)
    return UNKNOWN


def _of_library(callee: LibraryMember) -> Values:
    entry = callee.member.entry
    if isinstance(entry, Class):
        return (LibraryInstance(callee.library, callee.path, callee.member),)
    if isinstance(entry, Function) and entry.returns and "." not in entry.returns:
        found = callee.library.members(callee.member.module, entry.returns)
        if len(found) == 1 and found[0].kind == "class":
            value = library_value(callee.library, f"{found[0].module}.{found[0].name}", found[0])
            if isinstance(value, LibraryMember):
                return (LibraryInstance(value.library, value.path, value.member),)
    return UNKNOWN


def _external(evaluator: Evaluator, name: str, node: ast.Call, at: Position) -> Values:
    """Calls of builtins and the standard library that hand on what they are given."""
    given = node.args
    if name in ("importlib.import_module", "builtins.__import__") and given:
        return evaluator.each(evaluator.value(given[0], at), lambda v: _module_named(evaluator, v))
    if name == "builtins.getattr" and len(given) in (2, 3):
        return _getattr(evaluator, node, at)
    if name == "builtins.dict":
        return (dicts.constructor(evaluator, node, at),)
    if name == "functools.partial" and given:
        return evaluator.each(evaluator.value(given[0], at), lambda v: _partial(v, node))
    if name in ("functools.cache", "functools.lru_cache", "typing.cast") and given:
        return evaluator.value(given[-1], at)
    return UNKNOWN


def _module_named(evaluator: Evaluator, value: Value) -> Values:
    if isinstance(value, Constant) and isinstance(value.value, str):
        return evaluator.module(value.value)
    return UNKNOWN


def _getattr(evaluator: Evaluator, node: ast.Call, at: Position) -> Values:
    groups: list[Values] = []
    for named in evaluator.value(node.args[1], at):
        if not (isinstance(named, Constant) and isinstance(named.value, str)):
            groups.append(UNKNOWN)
            continue
        found = evaluator.attributes(evaluator.value(node.args[0], at), named.value)
        if len(node.args) == 3 and any(isinstance(v, Absent) for v in found):
            present = tuple(v for v in found if not isinstance(v, Absent))
            found = union(present, evaluator.value(node.args[2], at))
        groups.append(found)
    return union(*groups)


def _partial(value: Value, node: ast.Call) -> Values:
    keywords = tuple(k.arg for k in node.keywords if k.arg)
    spread = any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args)
    return (Partial(value, len(node.args) - 1, keywords, spread),)


def returned(evaluator: Evaluator, callee: EngineFunction, given: dict[str, Values]) -> Values:
    """Everything a function of the tree may return, with what is known of its parameters."""
    scope = called_scope(callee, given)
    texts = sorted((n, v[0].value) for n, v in given.items() if len(v) == 1 and isinstance(v[0], Constant))
    key = ("call", id(callee.node), repr(texts))
    return evaluator.enter(key, lambda: _returns(evaluator, callee, scope))


def called_scope(callee: EngineFunction, given: dict[str, Values]) -> Scope:
    """The scope of a function of the tree, its parameters known as far as they are given."""
    scope = evaluator_scope(callee)
    own = dict(given)
    if callee.bound is not None and not isinstance(callee.node, ast.Lambda):
        plain = [*callee.node.args.posonlyargs, *callee.node.args.args]
        if plain:
            own[plain[0].arg] = (callee.bound,)  # type: ignore[assignment]
    return scope.called_with(dict(own))


def evaluator_scope(callee: EngineFunction) -> Scope:
    """A fresh scope for a function's body."""
    return callee.scope.inner(callee.node, getattr(callee.node, "name", "<lambda>"))


def _returns(evaluator: Evaluator, callee: EngineFunction, scope: Scope) -> Values:
    if isinstance(callee.node, ast.Lambda):
        return evaluator.value(callee.node.body, evaluator.at(scope))
    if isinstance(callee.node, ast.AsyncFunctionDef):
        return UNKNOWN
    groups: list[Values] = []
    for step in scope.steps:
        if isinstance(step.node, ast.Return):
            value = step.node.value
            here = evaluator.at(scope, step.path, step.order)
            groups.append((NONE,) if value is None else evaluator.value(value, here))
        elif isinstance(step.node, ast.Expr) and isinstance(step.node.value, ast.Yield | ast.YieldFrom):
            return UNKNOWN
    found = union(*groups) if groups else (NONE,)
    if all(isinstance(v, Unknown) for v in found) and callee.node.returns is not None:
        return evaluator.annotated(callee.node.returns, evaluator.at(callee.scope))
    return found


def parameters(
    evaluator: Evaluator, callee: EngineFunction, node: ast.Call, at: Position
) -> dict[str, Values]:
    """Values of a followed function's parameters; one that cannot be read is left to its annotation."""
    args = callee.node.args
    plain = [a.arg for a in (*args.posonlyargs, *args.args)]
    if callee.bound is not None and plain:
        plain.pop(0)
    if any(isinstance(a, ast.Starred) for a in node.args):
        return {}
    outside = evaluator.at(callee.scope)
    found: dict[str, Values] = {}
    for name, default in zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=False):
        found[name] = evaluator.value(default, outside)
    for only, default_or_none in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if default_or_none is not None:
            found[only.arg] = evaluator.value(default_or_none, outside)
    found.update((name, evaluator.value(given, at)) for name, given in zip(plain, node.args, strict=False))
    names = {*plain, *(a.arg for a in args.kwonlyargs)}
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg in names:
            found[keyword.arg] = evaluator.value(keyword.value, at)
    return {name: v for name, v in found.items() if any(not isinstance(x, Unknown) for x in v)}
