"""Find what a plugin's runtime patches replace: assignments into the engine's modules and classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from pinproof.seams.code import FunctionNode, Module, World, blocks
from pinproof.seams.names import Names, Scope, expressions, is_sys_modules, leaves

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
    needles = [b"sys.modules", *(package.encode() for package in world.engine.packages)]
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
            if isinstance(item, ast.If) and not item.orelse and leaves(item.body):
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
            yield from self._stub(target, target.slice)  # sys.modules["vllm.x"] = stub

    def _stub(self, node: ast.expr, name: ast.expr) -> Iterator[Placed]:
        """A module put into sys.modules under a name of the engine's."""
        whole = node.value if isinstance(node, ast.Subscript) else node
        if not is_sys_modules(whole):
            return
        found = self._names.strings(name, self._scope)
        if not found and isinstance(name, ast.Name) and isinstance(self._scope.node, FunctionNode):
            found = self._given_elsewhere(self._scope.node, name.id)
        for full in found:
            if self._world.is_engine(full):
                yield self._place(full, "", node, "module", None)

    def _given_elsewhere(self, function: FunctionNode, parameter: str) -> list[str]:
        """The texts that other files of the plugin pass to a helper for a parameter."""
        plain = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        found: list[str] = []
        for other in self._world.plugin.mentioning(f"{function.name}(".encode()):
            module = self._world.plugin.module(other) if other != self._names.module.name else None
            names = Names(module) if module is not None and b"import" in module.data else None
            for call, scope in names.calls().get(function.name, []) if names is not None else ():
                given = [k.value for k in call.keywords if k.arg == parameter]
                if parameter in plain and plain.index(parameter) < len(call.args):
                    given.append(call.args[plain.index(parameter)])
                found += [text for value in given for text in names.strings(value, scope)] if names else []
        return found

    def _call(self, node: ast.Call) -> Iterator[Placed]:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        known: dict[str, How] = {"setattr": "setattr", "delattr": "delete", "extend_enum": "enum"}
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if called in ("setdefault", "__setitem__") and owner is not None and len(node.args) == 2:
            yield from self._stub(owner, node.args[0])
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
