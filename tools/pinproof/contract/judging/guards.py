"""What keeps a failing call from running: handlers, probes, version tests, other platforms' branches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.position import Position
from pinproof.contract.judging import truth
from pinproof.contract.model import DriftKind
from pinproof.contract.syntax.bindings import Arm, Path, Step, own_expressions
from pinproof.contract.syntax.flow import PARENTS, catches
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
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def guard(
    evaluator: Evaluator,
    at: Position,
    kind: DriftKind,
    names: tuple[str, ...],
    *,
    importing: bool,
    depth: int = 0,
) -> str | None:
    """What keeps a drift from happening, with its line; None when nothing does.

    Args:
        evaluator: for the tests of the branches around it.
        at: where the failing node stands.
        kind: the kind of drift.
        names: what is missing or unexpected: a probe for just that counts.
        importing: whether an import statement fails (ImportError) rather than an attribute access.
        depth: how many callers of private functions were looked through.
    """
    error = "ImportError" if importing and kind == "missing-attribute" else _RAISED[kind]
    question = truth.Question(kind, names)
    for test, taken, line in at.when:
        found = _by_test(evaluator, test, taken, at, question, line)
        if found:
            return found
    scope: Scope | None = at.scope
    path, order = at.path, at.order
    while scope is not None:
        found = _in_scope(evaluator, scope, path, order, error, question)
        if found:
            return found
        found = _by_callers(evaluator, scope, kind, names, importing=importing, depth=depth)
        if found:
            return found
        path, order = scope.inside, scope.order
        scope = scope.parent
    return None


def _by_callers(
    evaluator: Evaluator,
    scope: Scope,
    kind: DriftKind,
    names: tuple[str, ...],
    *,
    importing: bool,
    depth: int,
) -> str | None:
    """A guard around every place that uses a private function: it runs only from there."""
    node = scope.node
    if not isinstance(node, FunctionNode) or not node.name.startswith("_") or node.name.endswith("__"):
        return None
    found: str | None = None
    for place in _uses(scope, node.name) if depth < _DEEPEST else ():
        found = guard(evaluator, place, kind, names, importing=importing, depth=depth + 1)
        if found is None:
            return None
    return f"{found}, around every use of {node.name}" if found else None


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


def _in_scope(
    evaluator: Evaluator, scope: Scope, path: Path, order: int, error: str, question: truth.Question
) -> str | None:
    named = _platform_name(scope, question)
    if named:
        return named
    for index in reversed(range(len(path))):
        arm = path[index]
        found = _by_handler(arm, error)
        if not found and isinstance(arm.node, ast.If | ast.While) and arm.block in ("body", "orelse"):
            here = evaluator.at(scope, path[:index], order)
            found = _by_test(evaluator, arm.node.test, arm.block == "body", here, question, arm.node.lineno)
        if found:
            return found
    for test, taken, step in _left_before(scope, path, order):
        here = evaluator.at(scope, step.path, step.order)
        found = _by_test(evaluator, test, taken, here, question, step.node.lineno)
        if found:
            return found
    return None


def _by_handler(arm: Arm, error: str) -> str | None:
    node = arm.node
    if arm.handler is not None and catches(arm.handler, "ImportError", "AttributeError"):
        return f"line {arm.handler.lineno}: runs only after an import has failed"
    if isinstance(node, ast.Try) and arm.block == "body":
        for handler in node.handlers:
            if catches(handler, error) and not _raises(handler.body):
                caught = f" {ast.unparse(handler.type)}" if handler.type else ""
                return f"line {handler.lineno}: except{caught}"
    if isinstance(node, ast.With) and arm.block == "body":
        for item in node.items:
            call = item.context_expr
            if not isinstance(call, ast.Call) or not (dotted(call.func) or "").endswith("suppress"):
                continue
            if any((dotted(a) or "") in PARENTS.get(error, ()) for a in call.args):
                return f"line {node.lineno}: {ast.unparse(call)}"
    return None


def _raises(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise) and not any(isinstance(s, ast.If | ast.Try) for s in body)


def _by_test(
    evaluator: Evaluator, test: ast.expr, taken: bool, at: Position, question: truth.Question, line: int
) -> str | None:
    answer = truth.of(evaluator, test, at, question)
    text = " ".join(ast.unparse(test).split())
    shown = f"line {line}: {'if' if taken else 'unless'} {text[:70]}{'...' if len(text) > 70 else ''}"
    if answer is truth.PROBE:
        return f"{shown} (a probe)"
    if isinstance(answer, bool) and answer != taken:
        return f"{shown} (never so here)"
    return None


def _left_before(scope: Scope, path: Path, order: int) -> Iterator[tuple[ast.expr, bool, Step]]:
    """Tests that were passed on the way: `if not probe: return` above, and asserts."""
    for step in scope.leaving:
        if step.order >= order or step.path != path[: len(step.path)]:
            continue
        node = step.node
        if isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVES):
            if not any(arm.node is node for arm in path):
                yield node.test, False, step
        elif isinstance(node, ast.Assert):
            yield node.test, True, step


def _platform_name(scope: Scope, question: truth.Question) -> str | None:
    """Functions and classes named for another platform: `_build_xpu_block_ids`."""
    if not isinstance(scope.node, FunctionNode | ast.ClassDef):
        return None
    words = {w.lower() for w in re.findall(r"[A-Za-z][a-z]+|[A-Z]{2,}|\d+", scope.node.name)}
    other = words & truth.other_platforms()
    if other:
        return f"line {scope.node.lineno}: {scope.node.name} is for {sorted(other)[0]}"
    return None
