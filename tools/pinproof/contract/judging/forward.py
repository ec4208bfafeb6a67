"""Functions of the tree that hand their own arguments on to a library: `def w(*a, **k): f(*a, **k)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.results import Given, called_scope
from pinproof.contract.evaluation.values import EngineFunction, Value
from pinproof.contract.judging.binding import Arguments
from pinproof.contract.syntax.bindings import own_expressions
from pinproof.contract.syntax.nodes import FunctionNode

_DEEPEST = 3


class Forwarded(NamedTuple):
    """A callee that a wrapper calls with what it was given, and the arguments it gets."""

    value: Value
    arguments: Arguments
    place: str


def forwarded(
    evaluator: Evaluator, wrapper: EngineFunction, given: Arguments, known: Given, depth: int = 0
) -> Iterator[Forwarded]:
    """What a wrapper of the tree calls with its own `*args` and `**kwargs`.

    Args:
        evaluator: follows names inside the wrapper.
        wrapper: the wrapper.
        given: the arguments it is called with.
        known: values of its parameters.
        depth: how many wrappers this one lies in.
    """
    node = wrapper.node
    if not isinstance(node, FunctionNode) or node.args.kwarg is None or depth > _DEEPEST:
        return
    changed = _changed(node)
    if changed is None:
        return
    scope = called_scope(wrapper, known)
    for step in scope.steps:
        for expression in own_expressions(step.node):
            for call in ast.walk(expression):
                if not isinstance(call, ast.Call) or not _spreads(call, node):
                    continue
                arguments = _passed(node, call, given, bound=wrapper.bound is not None)
                if arguments is None:
                    continue
                arguments = _without(arguments, changed)
                for value in evaluator.value(call.func, evaluator.at(scope, step.path, step.order)):
                    place = f"{scope.file.path}:{call.lineno}"
                    if isinstance(value, EngineFunction):
                        yield from forwarded(evaluator, value, arguments, {}, depth + 1)
                    else:
                        yield Forwarded(value, arguments, place)


def _spreads(call: ast.Call, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    assert node.args.kwarg is not None
    spread = [k.value for k in call.keywords if k.arg is None]
    return len(spread) == 1 and isinstance(spread[0], ast.Name) and spread[0].id == node.args.kwarg.arg


def _changed(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str] | None:
    """The names that the body takes out of its `**kwargs` or puts in; None when it may change more."""
    kwarg, vararg = node.args.kwarg, node.args.vararg
    names: set[str | None] = set()
    for parent in ast.walk(node):
        for child in ast.iter_child_nodes(parent):
            if not isinstance(child, ast.Name):
                continue
            if kwarg is not None and child.id == kwarg.arg:
                names.update(_change(node, parent, child))
            elif vararg is not None and child.id == vararg.arg and not isinstance(child.ctx, ast.Load):
                return None
    return None if None in names else frozenset(name for name in names if name is not None)


def _change(node: ast.AST, parent: ast.AST, child: ast.Name) -> set[str | None]:
    """What one use of `kwargs` changes in it: {} nothing, {name} one key, {None} more than can be told."""
    if isinstance(parent, ast.Subscript) and parent.value is child:
        return set() if isinstance(parent.ctx, ast.Load) else {_key(parent.slice)}
    if isinstance(parent, ast.Attribute):
        if parent.attr in ("get", "items", "keys", "values", "copy"):
            return set()
        keyed = parent.attr in ("pop", "setdefault")
        calls = (c for c in ast.walk(node) if isinstance(c, ast.Call) and c.func is parent)
        return {_key(c.args[0]) if keyed and c.args else None for c in calls} or {None}
    harmless = isinstance(child.ctx, ast.Load) and isinstance(
        parent,
        ast.keyword | ast.Compare | ast.For | ast.comprehension | ast.If | ast.Dict | ast.FormattedValue,
    )
    return set() if harmless else {None}


def _key(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _without(given: Arguments, changed: frozenset[str]) -> Arguments:
    """The arguments without the names that a wrapper takes out or puts in under whatever condition."""
    if not changed:
        return given
    keywords = tuple(name for name in given.keywords if name not in changed)
    optional = tuple(pair for pair in given.optional if pair[0] not in changed)
    return given._replace(keywords=keywords, optional=optional, more_keywords=True)


def _passed(
    node: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, given: Arguments, *, bound: bool
) -> Arguments | None:
    """The arguments of the inner call when the outer one gets `given`; None when it cannot be told."""
    own = [a.arg for a in (*node.args.posonlyargs, *node.args.args)][1 if bound else 0 :]
    named = {*own, *(a.arg for a in node.args.kwonlyargs)}
    surplus = max(given.positional - len(own), 0)
    positional, more = 0, False
    for argument in call.args:
        if not isinstance(argument, ast.Starred):
            positional += 1
        elif (
            node.args.vararg
            and isinstance(argument.value, ast.Name)
            and argument.value.id == node.args.vararg.arg
        ):
            positional += surplus
            more = more or given.more_positional
        else:
            return None
    keywords = tuple(k.arg for k in call.keywords if k.arg)
    passed = tuple(k for k in given.keywords if k not in named)
    optional = tuple(o for o in given.optional if o[0] not in named)
    return Arguments(positional, more, (*keywords, *passed), optional, given.more_keywords)
