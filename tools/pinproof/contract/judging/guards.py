"""What keeps a failing call from running: handlers that take its error in, and conditions that are not met.

A condition guards a call when it is not met on the pinned versions, or when it asks for this very callee, or
its library's version, and the answer is not known. One that asks the library for something else, without an
answer, leaves the call open. Any other condition may hold, so the call may run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from pinproof.contract.evaluation.position import Position
from pinproof.contract.judging import platforms, reach
from pinproof.contract.judging.pinned import Pinned
from pinproof.contract.judging.reach import Edge
from pinproof.contract.judging.truth import Answer, Question
from pinproof.contract.model import DriftKind
from pinproof.contract.syntax.bindings import Arm, Path, own_expressions
from pinproof.contract.syntax.flow import PARENTS, catches, fails
from pinproof.contract.syntax.nodes import FunctionNode, dotted
from pinproof.contract.syntax.scopes import Scope, scopes

_RAISED: dict[DriftKind, str] = {
    "missing-module": "ModuleNotFoundError",
    "missing-attribute": "AttributeError",
    "unexpected-keyword": "TypeError",
    "missing-required": "TypeError",
    "too-many-positional": "TypeError",
    "result-count": "ValueError",
    "abstract-method": "TypeError",
}
# How many callers of private functions are looked through.
_DEEPEST = 2


class Guard(NamedTuple):
    """What keeps a call from running, with its line; when it is not `sure`, the call may run all the same."""

    why: str
    sure: bool = True


def error_of(question: Question, *, importing: bool) -> str:
    """The built-in exception that a drift raises; `importing` when an import statement fails."""
    if importing and question.kind == "missing-attribute":
        return "ImportError"
    return _RAISED[question.kind]


def guard(pinned: Pinned, at: Position, question: Question, error: str, depth: int = 0) -> Guard | None:
    """What keeps a drift from happening; None when nothing does.

    Args:
        pinned: answers the tests of the branches around it.
        at: where the failing node stands.
        question: what fails.
        error: the exception that it raises.
        depth: how many callers of private functions were looked through.
    """
    doubts: list[Guard] = []
    for found in _guards(pinned, at, question, error, depth):
        if found.sure:
            return found
        doubts.append(found)
    return doubts[0] if doubts else None


def _guards(pinned: Pinned, at: Position, question: Question, error: str, depth: int) -> Iterator[Guard]:
    for test, taken, line in at.when:
        yield from _by_edge(reach.test_edge(pinned, test, taken, at, line), question)
    scope: Scope | None = at.scope
    path, order = at.path, at.order
    inline = True
    while scope is not None:
        for edge in reach.edges(pinned, scope, path, order, {}):
            yield from _by_edge(edge, question)
        if inline:
            yield from _by_handlers(path, error)
        yield from _by_platform(pinned, scope)
        yield from _by_callers(pinned, scope, question, error, depth)
        inline = inline and isinstance(scope.node, ast.ClassDef)
        path, order = scope.inside, scope.order
        scope = scope.parent


def _by_edge(edge: Edge, question: Question) -> Iterator[Guard]:
    if edge.met.answer is Answer.NO:
        yield Guard(f"{edge.text} (never so here)")
    elif edge.met.answer is Answer.MAY:
        if question.is_asked(edge.met.about):
            yield Guard(f"{edge.text} (a probe)")
        elif question.library in edge.near or any(a.library == question.library for a in edge.met.about):
            yield Guard(
                f"{edge.text} asks {question.library} for something, and the answer is not known", False
            )


def _by_platform(pinned: Pinned, scope: Scope) -> Iterator[Guard]:
    """A function or class named for another platform says little: it may run here too."""
    if isinstance(scope.node, FunctionNode | ast.ClassDef) and not platforms.is_plugin(
        pinned.evaluator.codebase
    ):
        other = platforms.named(scope.node.name)
        if other:
            yield Guard(f"line {scope.node.lineno}: {scope.node.name} is named for {other}", False)


# -- handlers --------------------------------------------------------------------------------------------


def _by_handlers(path: Path, error: str) -> Iterator[Guard]:
    """Handlers around a call that take its error in: one that ends in an error of its own hands that on."""
    for arm in reversed(path):
        if arm.block != "body":
            continue
        if isinstance(arm.node, ast.Try):
            handler = next((h for h in arm.node.handlers if catches(h, error)), None)
            if handler is None:
                continue
            if not fails(handler.body):
                caught = f" {ast.unparse(handler.type)}" if handler.type else ""
                yield Guard(f"line {handler.lineno}: except{caught}")
            error = _raised_by(handler) or error
        elif isinstance(arm.node, ast.With):
            yield from _by_suppress(arm, error)


def _by_suppress(arm: Arm, error: str) -> Iterator[Guard]:
    assert isinstance(arm.node, ast.With)
    for item in arm.node.items:
        call = item.context_expr
        if not isinstance(call, ast.Call) or (dotted(call.func) or "").rpartition(".")[2] != "suppress":
            continue
        if any((dotted(a) or "") in PARENTS.get(error, ()) for a in call.args):
            yield Guard(f"line {arm.node.lineno}: {ast.unparse(call)}")


def _raised_by(handler: ast.ExceptHandler) -> str | None:
    """The exception that a handler raises anew; None when it raises the one it caught."""
    last = handler.body[-1]
    if isinstance(last, ast.Raise) and last.exc is not None:
        made = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
        name = (dotted(made) or "?").rpartition(".")[2]
        return None if name == handler.name else name
    return None if isinstance(last, ast.Raise) else "SystemExit" if isinstance(last, ast.Expr) else None


# -- callers ---------------------------------------------------------------------------------------------


def _by_callers(pinned: Pinned, scope: Scope, question: Question, error: str, depth: int) -> Iterator[Guard]:
    """A guard around every place that uses a private function: it runs only from there."""
    node = scope.node
    if not isinstance(node, FunctionNode) or not node.name.startswith("_") or node.name.endswith("__"):
        return
    found: list[Guard] = []
    for place in _uses(scope, node.name) if depth < _DEEPEST else ():
        one = guard(pinned, place, question, error, depth + 1)
        if one is None:
            return
        found.append(one)
    if found:
        least = next((g for g in found if not g.sure), found[-1])
        yield Guard(f"{least.why}, around every use of {node.name}", least.sure)


def _uses(scope: Scope, name: str) -> Iterator[Position]:
    """Where a file uses a function by name, its own body left out."""
    file = scope.file
    for inner in scopes(file.scope):
        if any(around is scope for around in _around(inner)):
            continue
        for step in inner.steps:
            for expression in own_expressions(step.node):
                for child in ast.walk(expression):
                    last = child.attr if isinstance(child, ast.Attribute) else getattr(child, "id", None)
                    if last == name:
                        yield Position(inner, step.path, step.order)


def _around(scope: Scope) -> Iterator[Scope]:
    inner: Scope | None = scope
    while inner is not None:
        yield inner
        inner = inner.parent
