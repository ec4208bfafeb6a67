"""Where an expression stands."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from pinproof.contract.evaluation.values import UNKNOWN, Values
from pinproof.contract.syntax.bindings import Path, loop_targets
from pinproof.contract.syntax.nodes import Comprehension
from pinproof.contract.syntax.scopes import Scope

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator


class Position:
    """Where an expression stands: its scope, the branches around it, its place in the order.

    `when` are the tests of the expression around it (`a if test else b`, `test and a`), each with the
    answer under which this part is evaluated, and its line.
    """

    __slots__ = ("order", "path", "scope", "when")

    def __init__(
        self,
        scope: Scope,
        path: Path = (),
        order: int = 1 << 30,
        when: tuple[tuple[ast.expr, bool, int], ...] = (),
    ) -> None:
        self.scope = scope
        self.path = path
        self.order = order
        self.when = when

    def _key(self) -> tuple[object, ...]:
        return id(self.scope.node), self.order, tuple((id(test), answer) for test, answer, _ in self.when)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def comprehension(evaluator: Evaluator, node: Comprehension, at: Position) -> Position:
    """The scope of a comprehension: its targets hide outer names, and hold elements of what they run over.

    It is the same scope each time, so that evaluation sees when it comes back to itself.
    """
    scope = at.scope.inner(node, "<comprehension>")
    if not scope.arguments:
        scope.inside, scope.order = at.path, at.order
        inner = Position(scope, at.path, at.order, at.when)
        for index, generator in enumerate(node.generators):
            outside = inner if index else at
            for child in ast.walk(generator.target):
                if isinstance(child, ast.Name):
                    scope.arguments[child.id] = UNKNOWN
            for target, iterated in loop_targets(generator.target, generator.iter):
                if isinstance(target, ast.Name) and iterated is not None:
                    scope.arguments[target.id] = _elements(evaluator, iterated, outside)
    return Position(scope, at.path, at.order, at.when)


def _elements(evaluator: Evaluator, node: ast.expr, at: Position) -> Callable[[], Values]:
    return lambda: evaluator.elements(evaluator.value(node, at))
