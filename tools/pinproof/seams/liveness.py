"""Whether a place in a plugin runs on one version of its engine: the tests around it and its users."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from pinproof.contract.syntax.nodes import absolute
from pinproof.seams.code import FunctionNode, World, blocks
from pinproof.seams.names import Names, Scope, leaves
from pinproof.seams.versions import Versions

# A function is followed to those that use it, and they to theirs, so far.
_DEEPEST = 4
_MOST_USES = 40


class _Test(NamedTuple):
    """A test on the way to a place, the answer under which the place runs, and where it is read."""

    test: ast.expr
    wanted: bool
    scope: Scope


class Liveness:
    """Answers whether places of the plugin run on one version.

    Args:
        world: the plugin and the engine.
        versions: answers tests for the version.
    """

    def __init__(self, world: World, versions: Versions) -> None:
        self._world = world
        self._versions = versions
        self._known: dict[tuple[str, str], str | None] = {}

    def dead(self, module: str, line: int, col: int) -> str | None:
        """Why a place never runs on this version, in the words of the source; None when it may."""
        return self._dead(module, (line, col), 0)

    def runs(self, module: str, line: int, col: int) -> bool:
        """Whether there are tests around a place and each is known to let it run on this version."""
        names = self._versions.names_of(module)
        steps = [s for s, _ in self._way(names, (line, col)) if s is not None] if names is not None else []
        return bool(steps) and all(
            names is not None and self._versions.holds(s.test, names, s.scope) == s.wanted for s in steps
        )

    def ruled_out(self, text: str, module: str, line: int, col: int) -> bool:
        """Whether a condition, as text and as it reads at a place, does not hold on this version."""
        names, test = self._versions.names_of(module), _expression(text)
        if names is None or test is None:
            return False
        scope = names.top
        for _, inner in self._way(names, (line, col)):
            scope = inner
        return self._versions.holds(test, names, scope) is False

    def _dead(self, module: str, place: tuple[int, int], depth: int) -> str | None:
        names = self._versions.names_of(module)
        if names is None:
            return None
        function: str | None = None
        for step, scope in self._way(names, place):
            if isinstance(step, _Test):
                answer = self._versions.holds(step.test, names, step.scope)
                if answer is not None and answer != step.wanted:
                    text = ast.unparse(step.test)
                    return text if step.wanted else f"not ({text})"
            elif scope.parent is names.top and isinstance(scope.node, FunctionNode):
                function = scope.node.name
        if depth >= _DEEPEST:
            return None
        if function is not None:
            return self._unused(module, function, self._uses(module, function), depth)
        return self._unused(module, "", self._imports(module), depth)

    def _unused(
        self, module: str, function: str, uses: Iterator[tuple[str, tuple[int, int]]], depth: int
    ) -> str | None:
        """Why a function of the module's top, or with no name the module, is never used on this version."""
        key = (module, function)
        if key not in self._known:
            self._known[key] = None  # while it is looked at: a function that uses itself
            reasons: list[str] = []
            for other, place in uses:
                why = self._dead(other, place, depth + 1)
                if why is None or len(reasons) > _MOST_USES:
                    return None
                reasons.append(why)
            if reasons:
                self._known[key] = f"{function or module} is only used where {reasons[0]}"
        return self._known[key]

    def _imports(self, module: str) -> Iterator[tuple[str, tuple[int, int]]]:
        """Where the plugin's other modules import a module."""
        parent, _, leaf = module.rpartition(".")
        for name in self._world.plugin.names():
            if name == module or leaf.encode() not in self._world.plugin.data(name):
                continue
            parsed = self._world.plugin.module(name)
            for node in ast.walk(parsed.tree) if parsed is not None else ():
                found = False
                if isinstance(node, ast.Import):
                    found = any(alias.name == module for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and parsed is not None:
                    source = absolute(parsed.name, parsed.package, node.module, node.level)
                    found = source == module or (source == parent and any(a.name == leaf for a in node.names))
                if found and isinstance(node, ast.stmt):
                    yield name, (node.lineno, node.col_offset)

    def _uses(self, module: str, function: str) -> Iterator[tuple[str, tuple[int, int]]]:
        word = function.encode()
        for name in self._world.plugin.names():
            if word not in self._world.plugin.data(name):
                continue
            parsed = self._world.plugin.module(name)
            own = name == module
            for node in ast.walk(parsed.tree) if parsed is not None else ():
                named = isinstance(node, ast.Name) and node.id == function
                through = isinstance(node, ast.Attribute) and node.attr == function and not own
                read = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
                if read and (named or through) and isinstance(node, ast.expr):
                    yield name, (node.lineno, node.col_offset)

    def _way(self, names: Names, place: tuple[int, int]) -> Iterator[tuple[_Test | None, Scope]]:
        """The tests and scopes from the top of a file to a place."""
        yield from _down(names.module.tree.body, names.top, place)


def _expression(text: str) -> ast.expr | None:
    """A condition from its text; of one that was shortened for people, the parts that are whole."""
    while text:
        try:
            return ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            text = text.rpartition(" and ")[0]
    return None


def _down(body: list[ast.stmt], scope: Scope, place: tuple[int, int]) -> Iterator[tuple[_Test | None, Scope]]:
    for item in body:
        if not _holds(item, place):
            if isinstance(item, ast.If) and not item.orelse and leaves(item.body) and _before(item, place):
                yield _Test(item.test, False, scope), scope
            continue
        if isinstance(item, FunctionNode | ast.ClassDef):
            inner = scope.inner.get(id(item), scope)
            yield None, inner
            yield from _down(item.body, inner, place)
            return
        for part in blocks(item):
            if part and (part[0].lineno, part[0].col_offset) <= place and _ends(part[-1]) >= place:
                if isinstance(item, ast.If):
                    yield _Test(item.test, part is item.body, scope), scope
                yield from _down(part, scope, place)
                return
        yield from ((test, scope) for test in _inside(item, scope, place))
        return


def _inside(node: ast.AST, scope: Scope, place: tuple[int, int]) -> Iterator[_Test]:
    """The tests of conditional expressions on the way to a place."""
    for child in ast.iter_child_nodes(node):
        if not _holds(child, place):
            continue
        if isinstance(node, ast.IfExp) and child is not node.test:
            yield _Test(node.test, child is node.body, scope)
        if isinstance(node, ast.BoolOp):
            for value in node.values[: node.values.index(child)] if isinstance(child, ast.expr) else ():
                yield _Test(value, isinstance(node.op, ast.And), scope)
        yield from _inside(child, scope, place)


def _holds(node: ast.AST, place: tuple[int, int]) -> bool:
    line = getattr(node, "lineno", None)
    if line is None:  # arguments, comprehensions: only what they hold has a place
        return any(_holds(child, place) for child in ast.iter_child_nodes(node))
    start = (line, getattr(node, "col_offset", 0))
    if isinstance(node, FunctionNode | ast.ClassDef) and node.decorator_list:
        start = min(start, (node.decorator_list[0].lineno, 0))
    return start <= place < _ends(node)


def _ends(node: ast.AST) -> tuple[int, int]:
    return (getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0)


def _before(node: ast.AST, place: tuple[int, int]) -> bool:
    return _ends(node) <= place
