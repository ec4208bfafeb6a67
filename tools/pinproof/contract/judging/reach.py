"""Whether a statement runs on the pinned versions: the branches around it, and what may leave before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import Absent, OpenMember, Value
from pinproof.contract.judging.truth import MAY, NO, About, Answer, Truth, every, negated
from pinproof.contract.syntax.bindings import Path, Step, own_expressions
from pinproof.contract.syntax.flow import catches, fails, leaves, passed
from pinproof.contract.syntax.nodes import FunctionNode
from pinproof.contract.syntax.scopes import Scope

if TYPE_CHECKING:
    from pinproof.contract.judging.known import Known
    from pinproof.contract.judging.pinned import Pinned

_END = 1 << 30
_ERRORS = ("ImportError", "AttributeError")


class Edge(NamedTuple):
    """One condition on the way to a statement: whether it is met, and its words in the source."""

    met: Truth
    text: str
    near: frozenset[str] = frozenset()
    """Libraries that the condition needs, all of which is there; whether it is met depends on others."""


def runs(pinned: Pinned, scope: Scope, path: Path, order: int, env: Mapping[str, Known]) -> Truth:
    """Whether a statement of a scope runs when the scope does."""
    return every(edge.met for edge in edges(pinned, scope, path, order, env))


def falls_through(pinned: Pinned, scope: Scope, env: Mapping[str, Known]) -> bool:
    """Whether the end of a scope's body may be reached."""
    return runs(pinned, scope, (), _END, env).answer is not Answer.NO


def edges(
    pinned: Pinned, scope: Scope, path: Path, order: int, env: Mapping[str, Known], *, below: int = 0
) -> Iterator[Edge]:
    """The conditions on the way to a statement, the nearest branch first; `below` leaves outer ones out."""
    for index in reversed(range(below, len(path))):
        arm = path[index]
        node = arm.node
        if isinstance(node, ast.If | ast.While) and arm.block in ("body", "orelse"):
            at = Position(scope, path[:index], _order(scope, node))
            yield _tested(pinned, node.test, arm.block == "body", at, env, node.lineno)
        elif isinstance(node, ast.Try) and arm.handler is not None:
            failed, near = _attempt(pinned, scope, node, _END, env, _caught(arm.handler))
            yield Edge(failed, f"line {arm.handler.lineno}: runs only after an import has failed", near)
        elif isinstance(node, ast.Try) and arm.block in ("body", "orelse"):
            failed, _ = _attempt(pinned, scope, node, order, env, _ERRORS)
            if failed.answer is Answer.YES:
                yield Edge(NO, f"line {node.lineno}: what stands before it in the try fails")
    for test, taken, step in passed(scope.leaving, path, order):
        at = Position(scope, step.path, step.order)
        yield _tested(pinned, test, taken, at, env, step.node.lineno)
    yield from _after_tries(pinned, scope, path, order, env)


def test_edge(pinned: Pinned, test: ast.expr, taken: bool, at: Position, line: int) -> Edge:
    """The condition of a branch inside an expression: `a if test else b`."""
    return _tested(pinned, test, taken, at, {}, line)


def _order(scope: Scope, node: ast.stmt) -> int:
    return next((step.order for step in scope.steps if step.node is node), _END)


def _tested(
    pinned: Pinned, test: ast.expr, taken: bool, at: Position, env: Mapping[str, Known], line: int
) -> Edge:
    answer = pinned.truth(test, at, env)
    text = " ".join(ast.unparse(test).split())
    shown = f"line {line}: {'if' if taken else 'unless'} {text[:70]}{'...' if len(text) > 70 else ''}"
    return Edge(answer if taken else negated(answer), shown)


def _after_tries(
    pinned: Pinned, scope: Scope, path: Path, order: int, env: Mapping[str, Known]
) -> Iterator[Edge]:
    """Tries above a statement that leave on one of their ways: `except ImportError: return None`."""
    for step in scope.leaving:
        node = step.node
        if not isinstance(node, ast.Try) or step.order >= order or step.path != path[: len(step.path)]:
            continue
        if any(arm.node is node for arm in path):
            continue
        for handler in node.handlers:
            kinds = _caught(handler)
            if kinds:
                failed, _ = _attempt(pinned, scope, node, _END, env, kinds)
                shown = f"line {handler.lineno}: the import above"
                if leaves(handler.body):
                    yield Edge(negated(failed), f"{shown} fails")
                elif leaves(node.body) or leaves(node.orelse):
                    yield Edge(failed, f"{shown} does not fail")
                break


def _caught(handler: ast.ExceptHandler) -> tuple[str, ...]:
    return tuple(error for error in _ERRORS if catches(handler, error))


def _attempt(
    pinned: Pinned, scope: Scope, node: ast.Try, until: int, env: Mapping[str, Known], kinds: tuple[str, ...]
) -> tuple[Truth, frozenset[str]]:
    """Whether the body of a try fails, before `until`, with an error of one of `kinds`.

    What it imports of the watched libraries is looked up in the pinned ones; whether anything else fails is
    not known.

    Returns:
        whether it fails, and the libraries that it needs.
    """
    if not kinds:
        return MAY, frozenset()
    near: set[str] = set()
    about: set[About] = set()
    unsure = False
    for step in scope.steps:
        place = next((i for i, a in enumerate(step.path) if a.node is node and a.block == "body"), None)
        if place is None or step.order >= until or isinstance(step.node, FunctionNode | ast.ClassDef):
            continue
        if _is_caught_inside(step.path[place + 1 :]):
            continue
        needed, others = _needed(pinned, scope, step, env)
        unsure = unsure or others
        near.update(library for library, _, _ in needed)
        for library, kind, found in needed:
            if isinstance(found, Absent) and kind in kinds:
                within = edges(pinned, scope, step.path, step.order, env, below=place + 1)
                inner = every(edge.met for edge in within)
                if inner.answer is Answer.YES:
                    return Truth(Answer.YES, frozenset([About(library)])), frozenset(near)
                about |= inner.about if inner.answer is Answer.MAY else set()
                unsure = unsure or inner.answer is Answer.MAY
            if isinstance(found, OpenMember):
                about.add(About(library))
    may = unsure or bool(about)
    return (Truth(Answer.MAY, frozenset(about)) if may else NO), frozenset(near)


def _is_caught_inside(path: Path) -> bool:
    return any(
        isinstance(arm.node, ast.Try)
        and arm.block == "body"
        and any(_caught(h) and not fails(h.body) for h in arm.node.handlers)
        for arm in path
    )


def _needed(
    pinned: Pinned, scope: Scope, step: Step, env: Mapping[str, Known]
) -> tuple[list[tuple[str, str, Value]], bool]:
    """What a statement needs of watched libraries, and whether it may fail for other reasons.

    Each need is the library's name, the error if it is not there, and what it is.
    """
    evaluator, node = pinned.evaluator, step.node
    found: list[tuple[str, str, Value]] = []
    if isinstance(node, ast.Import | ast.ImportFrom):
        others = False
        for alias in node.names:
            module = (
                scope.file.absolute(node.module, node.level)
                if isinstance(node, ast.ImportFrom)
                else alias.name
            )
            watched = evaluator.codebase.watched(module)
            if watched is None:
                others = True
                continue
            named = isinstance(node, ast.ImportFrom) and alias.name != "*"
            values = evaluator.imported(module, alias.name) if named else evaluator.module(module)
            found += [(watched[0].name, "ImportError", value) for value in values]
        return found, others
    others = isinstance(node, ast.Raise)
    at = Position(scope, step.path, step.order)
    for expression in own_expressions(node):
        for child in ast.walk(expression):
            if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Load):
                values = evaluator.value(child, at)
                found += [(v.library.name, "AttributeError", v) for v in values if isinstance(v, Absent)]
                found += [(v.library, "AttributeError", v) for v in values if isinstance(v, OpenMember)]
            elif isinstance(child, ast.Call):
                called = pinned.modules_named(child, at, env)
                found += called or []
                others = others or called is None
    return found, others
