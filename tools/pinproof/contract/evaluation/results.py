"""What a call gives: modules from getters, objects from constructors, functions from factories."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pinproof.contract.declared import callables
from pinproof.contract.declared.summary import Class, Function
from pinproof.contract.evaluation import dicts, inherited
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import (
    NONE,
    UNKNOWN,
    Absent,
    Constant,
    EngineClass,
    EngineFunction,
    EngineInstance,
    Entering,
    External,
    LibraryInstance,
    LibraryMember,
    OpenMember,
    Partial,
    Unknown,
    Value,
    Values,
    library_value,
    union,
)  # fmt: skip
from pinproof.contract.syntax.nodes import absolute, dotted
from pinproof.contract.syntax.scopes import Scope

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator

# Functions of a library that hand on what another gives.
_DEEPEST = 4
Given = Mapping[str, Values | Callable[[], Values]]


def result(evaluator: Evaluator, callee: Value, node: ast.Call, at: Position) -> Values:
    """What calling `callee` with the arguments of `node` gives."""
    if isinstance(callee, External):
        return _external(evaluator, callee.name, node, at)
    if isinstance(callee, LibraryMember):
        return _of_library(callee)
    if isinstance(callee, EngineClass):
        return (EngineInstance(callee),)
    if isinstance(callee, EngineFunction):
        given = parameters(evaluator, callee, node, at)
        return returned(evaluator, callee, given, node, keep=at.scope.fixed)
    if isinstance(callee, OpenMember):
        return (OpenMember(callee.library, f"{callee.path}()", callee.reason),)
    return UNKNOWN


def _of_library(callee: LibraryMember, depth: int = 0) -> Values:
    entry, module = callee.member.entry, callee.member.module
    if isinstance(entry, Class):
        return (LibraryInstance(callee.library, callee.path, callee.member, exact=depth == 0),)
    if not isinstance(entry, Function) or entry.returns is None or depth > _DEEPEST:
        return UNKNOWN
    made: Values = UNKNOWN
    if entry.returns in ("self", "cls"):
        made = (callee.owner,) if callee.owner is not None else UNKNOWN
    else:
        found = callables.members(callee.library, module, entry.returns)
        if len(found) == 1:
            value = library_value(callee.library, f"{found[0].module}.{found[0].name}", found[0])
            made = _of_library(value, depth + 1) if isinstance(value, LibraryMember) else UNKNOWN
    return (Entering(made),) if callables.is_context(callee.library, module, entry) else made


def entered(evaluator: Evaluator, value: Value) -> Values:
    """What `with value as x` gives to x."""
    if isinstance(value, Entering):
        return value.gives
    if isinstance(value, LibraryInstance | EngineInstance):
        enter = evaluator.attribute(value, "__enter__")
        return union(*(_given_by(evaluator, method) for method in enter))
    return UNKNOWN


def _given_by(evaluator: Evaluator, method: Value) -> Values:
    if isinstance(method, LibraryMember):
        return _of_library(method)
    return returned(evaluator, method, {}, keep=True) if isinstance(method, EngineFunction) else UNKNOWN


def _external(evaluator: Evaluator, name: str, node: ast.Call, at: Position) -> Values:
    """Calls of builtins and the standard library that hand on what they are given."""
    given = node.args
    if name in ("importlib.import_module", "builtins.__import__") and given:
        return _imported(evaluator, node, at)
    if name == "sys.modules.get" and given:
        return evaluator.each(evaluator.value(given[0], at), evaluator.module_named)
    if name == "builtins.getattr" and len(given) in (2, 3):
        return _getattr(evaluator, node, at)
    if name in ("contextlib.nullcontext", "contextlib.closing") and given:
        return (Entering(evaluator.value(given[0], at)),)
    if name == "builtins.dict":
        return (dicts.constructor(evaluator, node, at),)
    if name == "builtins.super" and not given:
        return inherited.superior(evaluator, at)
    if name == "functools.partial" and given:
        return evaluator.each(evaluator.value(given[0], at), lambda v: _partial(v, node))
    if name in ("functools.cache", "functools.lru_cache", "typing.cast") and given:
        return evaluator.value(given[-1], at)
    return UNKNOWN


def _imported(evaluator: Evaluator, node: ast.Call, at: Position) -> Values:
    """What `import_module(name, package)` gives; a name that begins with dots counts from the package."""
    packages = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "package")]
    anchors = evaluator.value(packages[0], at) if packages else ()
    groups: list[Values] = []
    for named in evaluator.value(node.args[0], at):
        text = named.value if isinstance(named, Constant) else None
        if isinstance(text, str) and text.startswith("."):
            known = [a.value for a in anchors if isinstance(a, Constant) and isinstance(a.value, str)]
            level = len(text) - len(text.lstrip("."))
            modules = [absolute(a, True, text[level:] or None, level) for a in known]
            groups.append(union(*(evaluator.module(m) for m in modules)) if known else UNKNOWN)
        else:
            groups.append(evaluator.module_named(named))
    return union(*groups)


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


def returned(
    evaluator: Evaluator,
    callee: EngineFunction,
    given: Given,
    node: ast.Call | None = None,
    *,
    keep: bool = False,
) -> Values:
    """Everything a function of the tree may return.

    Args:
        evaluator: follows names in its body.
        callee: the function.
        given: what is known of its parameters.
        node: the call.
        keep: whether the same call always has the same arguments, so that the answer can be kept.
    """
    scope = called_scope(callee, given)
    key = ("call", id(callee.node), id(callee.scope), _identity(callee.bound), id(node))
    return evaluator.enter(
        key,
        lambda: _returns(evaluator, callee, scope),
        keep=keep and callee.scope.fixed and _is_plain(callee.bound),
    )


def called_scope(callee: EngineFunction, given: Given) -> Scope:
    """The scope of a function of the tree, its parameters known as far as they are given."""
    scope = evaluator_scope(callee)
    own: dict[str, Values | Callable[[], Values]] = dict(given)
    if callee.bound is not None and not isinstance(callee.node, ast.Lambda):
        plain = [*callee.node.args.posonlyargs, *callee.node.args.args]
        if plain:
            own[plain[0].arg] = (callee.bound,)  # type: ignore[assignment]
    return scope.called_with(own)


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
            return _yielded(evaluator, callee, scope)
    found = union(*groups) if groups else (NONE,)
    if all(isinstance(v, Unknown) for v in found) and callee.node.returns is not None:
        return evaluator.annotated(callee.node.returns, evaluator.at(callee.scope))
    return found


def _yielded(evaluator: Evaluator, callee: EngineFunction, scope: Scope) -> Values:
    """What a generator of the tree gives: a context, when the decorator says so, of what it yields."""
    names = {(dotted(d) or "").rpartition(".")[2] for d in getattr(callee.node, "decorator_list", ())}
    if "contextmanager" not in names:
        return UNKNOWN
    yielded = [
        evaluator.value(step.node.value.value, evaluator.at(scope, step.path, step.order))
        for step in scope.steps
        if isinstance(step.node, ast.Expr)
        and isinstance(step.node.value, ast.Yield)
        and step.node.value.value is not None
    ]
    return (Entering(union(*yielded)),) if yielded else UNKNOWN


def parameters(evaluator: Evaluator, callee: EngineFunction, node: ast.Call, at: Position) -> Given:
    """What a followed function's parameters are given, each evaluated when it is asked for."""
    args = callee.node.args
    plain = [a.arg for a in (*args.posonlyargs, *args.args)]
    if callee.bound is not None and plain:
        plain.pop(0)
    if any(isinstance(a, ast.Starred) for a in node.args):
        return {}
    outside = evaluator.at(callee.scope)
    found: dict[str, Callable[[], Values]] = {}
    for name, default in zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=False):
        found[name] = _later(evaluator, default, outside)
    for only, default_or_none in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if default_or_none is not None:
            found[only.arg] = _later(evaluator, default_or_none, outside)
    found.update((name, _later(evaluator, value, at)) for name, value in zip(plain, node.args, strict=False))
    names = {*plain, *(a.arg for a in args.kwonlyargs)}
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg in names:
            found[keyword.arg] = _later(evaluator, keyword.value, at)
    return found


def _later(evaluator: Evaluator, node: ast.expr, at: Position) -> Callable[[], Values]:
    return lambda: evaluator.value(node, at)


def _is_plain(bound: object) -> bool:
    return bound is None or isinstance(bound, EngineInstance)


def _identity(bound: object) -> int:
    return id(bound.of.node) if isinstance(bound, EngineInstance) else id(bound)
