"""Find what a plugin's runtime patches replace: assignments into the engine's modules and classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from pinproof.seams.code import FunctionNode, Module, World, blocks
from pinproof.seams.names import Names, Scope, expressions

# What wraps a function into a descriptor and leaves what it takes as it is.
_WRAPPERS = frozenset({"staticmethod", "classmethod", "MethodType"})
_DESCRIPTORS = frozenset({"property", "cached_property"})
_TESTS = frozenset({"tests", "test", "testing"})
How = Literal["assign", "setattr", "delete", "enum", "module"]


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """One place that replaces something of the engine at run time.

    Attributes:
        file, line: where it stands.
        owner: the module or class that is changed, canonical.
        name: the attribute that is set.
        how: `assign`, `setattr`, `delete`, `enum` (a member is added), `module` (sys.modules).
        under: the tests around it, in the words of the source, outermost first.
        replacement: the full name of what is put there, where it has one.
    """

    file: str
    line: int
    owner: str
    name: str
    how: How
    under: tuple[str, ...] = ()
    replacement: str | None = None

    @property
    def target(self) -> str:
        """The full name of what is replaced."""
        return f"{self.owner}.{self.name}" if self.name else self.owner

    @property
    def restores(self) -> bool:
        """Whether it puts back what stood there before it was patched."""
        return self.replacement == self.target


@dataclass(frozen=True, slots=True)
class Placed:
    """A patch where it stands in the plugin's syntax tree.

    Attributes:
        patch: what is replaced.
        tests: each test around it, and the answer under which the patch runs.
        names, scope: what the tests are to be read in.
        function: the function it puts in place, where that is written in the same file.
        bound: whether `self` is not among what that function is called with.
    """

    patch: Patch
    tests: tuple[tuple[ast.expr, bool], ...]
    names: Names
    scope: Scope
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None = None
    descriptor: str | None = None


def patches(world: World) -> list[Placed]:
    """Every runtime patch of the plugin, in the order of files and lines."""
    needles = [package.encode() for package in world.engine.packages]
    found: dict[tuple[str, int, str], Placed] = {}
    for name in sorted(world.plugin.names()):
        if is_test(name) or not any(n in world.plugin.data(name) for n in needles):
            continue
        module = world.plugin.module(name)
        if module is not None and _may_patch(module):
            for placed in _File(world, module).patches():
                found.setdefault((placed.patch.file, placed.patch.line, placed.patch.target), placed)
    return [found[key] for key in sorted(found)]


def is_test(module: str) -> bool:
    """Whether a module is among the plugin's own tests."""
    return bool(_TESTS & set(module.split(".")))


def _may_patch(module: Module) -> bool:
    data = module.data
    return any(word in data for word in (b"setattr(", b"delattr(", b"extend_enum(", b"sys.modules[")) or any(
        isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and not _is_self(node.value)
        for node in ast.walk(module.tree)
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


class _File:
    """The patches of one file."""

    def __init__(self, world: World, module: Module) -> None:
        self._world = world
        self._names = Names(module)
        self._scope = self._names.top
        self._tests: tuple[tuple[ast.expr, bool], ...] = ()

    def patches(self) -> Iterator[Placed]:
        for scope in self._names.scopes():
            self._scope = scope
            yield from self._body(scope.node.body, ())

    def _body(self, body: list[ast.stmt], tests: tuple[tuple[ast.expr, bool], ...]) -> Iterator[Placed]:
        for item in body:
            self._tests = tests
            yield from self._statement(item)
            if isinstance(item, FunctionNode | ast.ClassDef):
                continue
            for part in blocks(item):
                inner = tests
                if isinstance(item, ast.If):
                    inner = (*tests, (item.test, part is item.body))
                yield from self._body(part, inner)
            if isinstance(item, ast.If) and not item.orelse and _leaves(item.body):
                tests = (*tests, (item.test, False))  # if not version_is("0.28.0"): return

    def _statement(self, item: ast.stmt) -> Iterator[Placed]:
        if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
            for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                yield from self._assigned(target, item.value)
        elif isinstance(item, ast.Delete):
            for target in item.targets:
                if isinstance(target, ast.Attribute):
                    yield from self._set(target.value, [target.attr], None, target, "delete")
        for node in expressions(item):
            if isinstance(node, ast.Call):
                yield from self._call(node)

    def _assigned(self, target: ast.expr, value: ast.expr) -> Iterator[Placed]:
        if isinstance(target, ast.Attribute) and not _is_self(target.value):
            yield from self._set(target.value, [target.attr], value, target, "assign")
        elif isinstance(target, ast.Subscript):
            for name in self._names.dotted(target, self._scope):  # sys.modules["vllm.x"] = stub
                if self._world.is_engine(name):
                    yield self._place(name, "", target, "module", None)

    def _call(self, node: ast.Call) -> Iterator[Placed]:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        known: dict[str, How] = {"setattr": "setattr", "delattr": "delete", "extend_enum": "enum"}
        if called in known and len(node.args) >= 2:
            wanted = self._names.strings(node.args[1], self._scope)
            value = node.args[2] if called == "setattr" and len(node.args) == 3 else None
            yield from self._set(node.args[0], wanted, value, node, known[called])

    def _set(
        self, owner: ast.expr, wanted: list[str], value: ast.expr | None, node: ast.expr, how: How
    ) -> Iterator[Placed]:
        for full in self._names.dotted(owner, self._scope) if wanted else ():
            found = self._world.find(full)
            if self._world.is_engine(found.name) and found.kind in ("module", "class", "absent"):
                for name in wanted:
                    yield self._place(found.name, name, node, how, value)

    def _place(self, owner: str, name: str, node: ast.expr, how: How, value: ast.expr | None) -> Placed:
        function, replacement, descriptor = self._replacement(value)
        under = tuple(ast.unparse(t) if a else f"not ({ast.unparse(t)})" for t, a in self._tests)
        patch = Patch(
            file=self._names.module.path, line=node.lineno, owner=owner, name=name, how=how, under=under,
            replacement=replacement,
        )  # fmt: skip
        return Placed(patch, self._tests, self._names, self._scope, function, descriptor)

    def _replacement(
        self, value: ast.expr | None
    ) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None, str | None, str | None]:
        """The function that a patch puts in place, its name, and the descriptor it is wrapped in."""
        if isinstance(value, ast.Lambda):
            return value, None, None
        if isinstance(value, ast.Call) and value.args:
            called = (
                value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
            )
            if called in _WRAPPERS | _DESCRIPTORS:
                function, name, _ = self._replacement(value.args[0])
                return function, name, called
            return None, None, None
        if value is None:
            return None, None, None
        full = next(iter(self._names.dotted(value, self._scope)), None)
        node = self._scope.definition(value.id) if isinstance(value, ast.Name) else None
        if node is None and full is not None:
            node = self._world.find(full).node  # type: ignore[assignment]
        return (node if isinstance(node, FunctionNode) else None), full, None


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue)
