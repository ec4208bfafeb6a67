"""What expressions in a plugin's file may stand for, as full dotted names: enough to find patches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pinproof.contract.syntax.nodes import absolute
from pinproof.seams.code import FunctionNode, Module, blocks

# An owner that may be more things than this is not worth following.
_MOST = 12
_DEEPEST = 8
Scoped = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class When(NamedTuple):
    """Under which tests a name is bound, each with its answer; `fallback` in an except handler."""

    tests: tuple[tuple[ast.expr, bool], ...] = ()
    fallback: bool = False


class Scope:
    """The names that one module, class or function binds, whatever the order.

    Attributes:
        node: what it is the scope of.
        parent: the scope around it.
        values: the expressions, imports (as dotted names) and definitions that each name is bound to.
        when: for each of these, under which tests.
    """

    def __init__(self, node: Scoped, parent: Scope | None, module: Module) -> None:
        self.node = node
        self.parent = parent
        self.module = module
        self.values: dict[str, list[ast.expr | str]] = {}
        self.when: dict[str, list[When]] = {}
        self.inner: dict[int, Scope] = {}
        self._here = When()
        self._walk(node.body, When())

    def _walk(self, body: Iterable[ast.stmt], when: When) -> None:
        for item in body:
            self._here = when
            self._bind(item)
            if isinstance(item, FunctionNode | ast.ClassDef):
                continue
            for part in blocks(item):
                inner = when
                if isinstance(item, ast.If):
                    inner = When((*when.tests, (item.test, part is item.body)), when.fallback)
                elif isinstance(item, ast.Try) and any(part is h.body for h in item.handlers):
                    inner = When(when.tests, True)
                self._walk(part, inner)
            if isinstance(item, ast.If) and not item.orelse and leaves(item.body):
                when = When((*when.tests, (item.test, False)), when.fallback)

    def _bind(self, item: ast.stmt) -> None:
        if isinstance(item, ast.Import):
            for alias in item.names:
                name = alias.asname or alias.name.split(".")[0]
                self._add(name, alias.name if alias.asname else name)
        elif isinstance(item, ast.ImportFrom):
            source = absolute(self.module.name, self.module.package, item.module, item.level)
            for alias in item.names:
                self._add(alias.asname or alias.name, f"{source}.{alias.name}")
        elif isinstance(item, FunctionNode | ast.ClassDef):
            self.inner[id(item)] = Scope(item, self, self.module)
            if self.parent is None:
                self._add(item.name, f"{self.module.name}.{item.name}")
            else:
                self._add(item.name, f"{self.module.name}.<local>.{item.name}")
        elif isinstance(item, ast.Assign):
            for target in item.targets:
                if isinstance(target, ast.Name):
                    self._add(target.id, item.value)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value:
            self._add(item.target.id, item.value)
        elif isinstance(item, ast.For) and isinstance(item.target, ast.Name):
            for element in getattr(item.iter, "elts", []):
                self._add(item.target.id, element)

    def _add(self, name: str, value: ast.expr | str) -> None:
        self.values.setdefault(name, []).append(value)
        self.when.setdefault(name, []).append(self._here)

    def definition(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
        """The function or class of this name that is visible here."""
        scope: Scope | None = self
        while scope is not None:
            for inner in scope.inner.values():
                if isinstance(inner.node, FunctionNode | ast.ClassDef) and inner.node.name == name:
                    return inner.node
            scope = scope.parent
        return None


def own(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a scope, in compound statements too, not those of functions inside it."""
    for item in body:
        yield item
        if not isinstance(item, FunctionNode | ast.ClassDef):
            for part in blocks(item):
                yield from own(part)


class Names:
    """Evaluates expressions of one plugin file to dotted names."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.top = Scope(module.tree, None, module)
        self._calls: dict[str, list[tuple[ast.Call, Scope]]] | None = None

    def scopes(self) -> Iterator[Scope]:
        """Every scope of the file, outer ones first."""
        stack = [self.top]
        while stack:
            scope = stack.pop()
            yield scope
            stack.extend(scope.inner.values())

    def dotted(self, node: ast.expr, scope: Scope, depth: int = 0) -> list[str]:
        """The full names that an expression may stand for; empty when it is none that can be told."""
        if depth > _DEEPEST:
            return []
        found: list[str] = []
        if isinstance(node, ast.Name):
            found = self._name(node.id, scope, depth)
        elif isinstance(node, ast.Attribute):
            found = [f"{owner}.{node.attr}" for owner in self.dotted(node.value, scope, depth + 1)]
        elif isinstance(node, ast.Call):
            found = self._call(node, scope, depth)
        elif isinstance(node, ast.Subscript) and is_sys_modules(node.value):
            found = self.strings(node.slice, scope, depth + 1)
        elif isinstance(node, ast.IfExp):
            found = [*self.dotted(node.body, scope, depth + 1), *self.dotted(node.orelse, scope, depth + 1)]
        return list(dict.fromkeys(found))[:_MOST]

    def strings(self, node: ast.expr, scope: Scope, depth: int = 0) -> list[str]:
        """The constant strings that an expression may stand for."""
        if depth > _DEEPEST:
            return []
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name):
            found = []
            for where, value in self._bound(node.id, scope):
                if isinstance(value, ast.expr):
                    found += self.strings(value, where, depth + 1)
            return list(dict.fromkeys(found))[:_MOST]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = (
                self.strings(node.left, scope, depth + 1),
                self.strings(node.right, scope, depth + 1),
            )
            return [a + b for a in left for b in right][:_MOST]
        return []

    def _bound(self, name: str, scope: Scope) -> list[tuple[Scope, ast.expr | str]]:
        """What a name is bound to, each with the scope that it is to be read in."""
        current: Scope | None = scope
        while current is not None:
            if name in current.values and not (
                current is not scope and isinstance(current.node, ast.ClassDef)
            ):
                return [(current, value) for value in current.values[name]]
            if isinstance(current.node, FunctionNode) and name in _parameters(current.node):
                return self._given(current, name)
            current = current.parent
        return []

    def _name(self, name: str, scope: Scope, depth: int) -> list[str]:
        found: list[str] = []
        for where, value in self._bound(name, scope):
            found += [value] if isinstance(value, str) else self.dotted(value, where, depth + 1)
        return found

    def _given(self, scope: Scope, name: str) -> list[tuple[Scope, ast.expr | str]]:
        """What the calls in this file pass for a parameter: `def patch(cls): cls.m = f`, `patch(Engine)`."""
        function = scope.node
        assert isinstance(function, FunctionNode)
        plain = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        found: list[tuple[Scope, ast.expr | str]] = []
        for call, where in self.calls().get(function.name, []):
            found += [(where, k.value) for k in call.keywords if k.arg == name]
            if name in plain and plain.index(name) < len(call.args):
                found.append((where, call.args[plain.index(name)]))
        return found

    def calls(self) -> dict[str, list[tuple[ast.Call, Scope]]]:
        """The calls of plain names in this file, by name, each with its scope."""
        if self._calls is None:
            self._calls = {}
            for scope in self.scopes():
                for item in own(scope.node.body):
                    for node in expressions(item):
                        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                            self._calls.setdefault(node.func.id, []).append((node, scope))
        return self._calls

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> list[str]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("import_module", "__import__", "resolve_obj_by_qualname") and node.args:
            return self.strings(node.args[0], scope, depth + 1)
        if name == "get" and isinstance(node.func, ast.Attribute) and is_sys_modules(node.func.value):
            return self.strings(node.args[0], scope, depth + 1) if node.args else []
        if name == "getattr" and len(node.args) >= 2:
            owners = self.dotted(node.args[0], scope, depth + 1)
            return [f"{o}.{n}" for o in owners for n in self.strings(node.args[1], scope, depth + 1)]
        if name == "cast" and len(node.args) == 2:
            return self.dotted(node.args[1], scope, depth + 1)
        return []


def leaves(body: list[ast.stmt]) -> bool:
    """Whether a block ends by leaving: what follows it runs only when its test does not hold."""
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def is_sys_modules(node: ast.expr) -> bool:
    """Whether an expression is `sys.modules`."""
    return (
        isinstance(node, ast.Attribute) and node.attr == "modules" and getattr(node.value, "id", "") == "sys"
    )


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    given = function.args
    return {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def expressions(item: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of one statement, without those of statements inside it."""
    stack: list[ast.AST] = [
        child for child in ast.iter_child_nodes(item) if not isinstance(child, ast.stmt | ast.excepthandler)
    ]
    if isinstance(item, FunctionNode | ast.ClassDef):
        stack = list(item.decorator_list)
    while stack:
        node = stack.pop()
        yield node
        stack.extend(ast.iter_child_nodes(node))
