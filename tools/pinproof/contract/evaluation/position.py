"""Where an expression stands."""

from __future__ import annotations

import ast

from pinproof.contract.evaluation.values import UNKNOWN
from pinproof.contract.syntax.bindings import Path
from pinproof.contract.syntax.scopes import Scope


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


def comprehension(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, at: Position
) -> Position:
    """The scope of a comprehension: its targets hide outer names."""
    names = {
        child.id
        for generator in node.generators
        for child in ast.walk(generator.target)
        if isinstance(child, ast.Name)
    }
    scope = at.scope.called_with({**at.scope.arguments, **dict.fromkeys(names, UNKNOWN)})
    return Position(scope, at.path, at.order, at.when)
