"""The calls, imports and attribute accesses of one file that reach a watched library."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from pinproof.contract.codebase.relevant import Relevant
from pinproof.contract.evaluation import dicts, inherited
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.position import Position, comprehension
from pinproof.contract.evaluation.values import Sequence
from pinproof.contract.judging.binding import Arguments
from pinproof.contract.syntax.bindings import own_expressions
from pinproof.contract.syntax.nodes import Comprehension, dotted
from pinproof.contract.syntax.scopes import Scope


class Site(NamedTuple):
    """A node to check, and where it stands."""

    node: ast.Call | ast.Attribute | ast.alias
    at: Position
    statement: ast.stmt


def sites(evaluator: Evaluator, relevant: Relevant) -> Iterator[Site]:
    """Every call, attribute and import in the statements of a file that can matter."""
    for scope, step in relevant.statements:
        node, here = step.node, Position(scope, step.path, step.order)
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (Site(alias, here, node) for alias in node.names)
        else:
            yield from (
                s
                for s in _expressions(evaluator, node, here)
                if not relevant.names.isdisjoint(names := _names(s.node))
                or ("self" in names and relevant.inherits(scope) and _inherits(evaluator, scope))
            )


def _inherits(evaluator: Evaluator, scope: Scope) -> bool:
    """Whether the class of a method has a library's class among its bases."""
    owner = scope.enclosing_class
    return owner is not None and inherited.base(evaluator, evaluator.engine_class(owner)) is not None


def _names(node: ast.Call | ast.Attribute | ast.alias) -> set[str]:
    """The identifiers of the thing that is called or accessed, its arguments left out."""
    found: set[str] = set()
    inner: ast.AST = node
    while True:
        if isinstance(inner, ast.Attribute):
            found.add(inner.attr)
            inner = inner.value
        elif isinstance(inner, ast.Call):
            if inner is not node or isinstance(inner.func, ast.Call):
                found.update(_handed(inner))
            last = getattr(inner.func, "id", None) or getattr(inner.func, "attr", None)
            if last in ("getattr", "setattr", "partial", "patch"):
                found.update(_handed(inner))
            inner = inner.func
        elif isinstance(inner, ast.Subscript):
            found.update(_words(inner.slice))
            inner = inner.value
        else:
            for child in ast.walk(inner):
                if isinstance(child, ast.Name | ast.Attribute):
                    found.add(child.id if isinstance(child, ast.Name) else child.attr)
            return found


def _handed(node: ast.Call) -> Iterator[str]:
    """The identifiers of a call's plain arguments: `getattr(module, spec.kernel)` calls what they name."""
    for argument in node.args:
        yield from _words(argument)
        if isinstance(argument, ast.Name):
            yield argument.id
        elif isinstance(argument, ast.Attribute):
            yield argument.attr
            yield from (dotted(argument.value) or "").split(".")
        elif isinstance(argument, ast.JoinedStr):
            yield from (child.id for child in ast.walk(argument) if isinstance(child, ast.Name))


def _words(node: ast.expr) -> list[str]:
    """The identifiers in a string that may name a module or a member."""
    text = node.value if isinstance(node, ast.Constant) else None
    return text.split(".") if isinstance(text, str) else []


def _expressions(evaluator: Evaluator, statement: ast.stmt, at: Position) -> Iterator[Site]:
    for expression in own_expressions(statement):
        stack: list[tuple[ast.AST, Position]] = [(expression, at)]
        while stack:
            node, here = stack.pop()
            if isinstance(node, ast.Call) or (
                isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Del)
            ):
                yield Site(node, here, statement)
            stack.extend(_children(evaluator, node, here))


def _children(evaluator: Evaluator, node: ast.AST, at: Position) -> Iterator[tuple[ast.AST, Position]]:
    """The parts of an expression, each with what is known where it is evaluated."""
    if isinstance(node, ast.Lambda):
        inner = Position(at.scope.inner(node, "<lambda>"), when=at.when)
        yield node.body, inner
    elif isinstance(node, Comprehension):
        inner = comprehension(evaluator, node, at)
        yield from ((child, inner) for child in ast.iter_child_nodes(node))
    elif isinstance(node, ast.IfExp):
        yield node.test, at
        yield node.body, _under(at, node.test, True)
        yield node.orelse, _under(at, node.test, False)
    elif isinstance(node, ast.BoolOp):
        for index, value in enumerate(node.values):
            inner = at
            for earlier in node.values[:index]:
                inner = _under(inner, earlier, isinstance(node.op, ast.And))
            yield value, inner
    else:
        yield from ((child, at) for child in ast.iter_child_nodes(node))


def _under(at: Position, test: ast.expr, answer: bool) -> Position:
    return Position(at.scope, at.path, at.order, (*at.when, (test, answer, test.lineno)))


def arguments(evaluator: Evaluator, node: ast.Call, at: Position) -> Arguments:
    """What a call passes, as far as it can be read."""
    positional, more = 0, False
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            positional += 1
            continue
        length = _length(evaluator, argument.value, at)
        more = more or length is None
        positional += length or 0
    mapping = dicts.constructor(evaluator, ast.Call(node.func, [], node.keywords), at)
    return Arguments(positional, more, mapping.required, mapping.optional, mapping.open)


def _length(evaluator: Evaluator, node: ast.expr, at: Position) -> int | None:
    values = evaluator.value(node, at)
    lengths = {len(v.elements) if isinstance(v, Sequence) else None for v in values}
    return lengths.pop() if len(lengths) == 1 else None
