"""Find what a plugin's runtime patches replace: assignments into the engine's modules and classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

import msgspec

from pinproof.seams.code import FunctionNode, Module, World, blocks
from pinproof.seams.names import Names, Scope, expressions

# What wraps a function into a descriptor and leaves what it takes as it is.
_WRAPPERS = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "MethodType", "partialmethod"}
)
_TESTS = ("tests", "test", "testing")


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """One place that replaces something of the engine at run time.

    Attributes:
        file, line: where it stands.
        owner: the module or class that is changed, by the name the file uses, made absolute.
        name: the attribute that is set.
        how: `assign`, `setattr`, `delete`, `enum` (a member is added), `module` (sys.modules).
        under: the tests around it, in the words of the source, outermost first.
        replacement: the full name of what is put there, where it has one.
    """

    file: str
    line: int
    owner: str
    name: str
    how: Literal["assign", "setattr", "delete", "enum", "module"]
    under: tuple[str, ...] = ()
    replacement: str | None = None

    @property
    def target(self) -> str:
        """The full name of what is replaced."""
        return f"{self.owner}.{self.name}" if self.name else self.owner


class Placed(msgspec.Struct, frozen=True):
    """A patch, and the function that it puts in place, where that is written in the same file."""

    patch: Patch
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None = None


def patches(world: World) -> Iterator[Placed]:
    """Every runtime patch of the plugin, in the order of files and lines."""
    needles = [package.encode() for package in world.engine.packages]
    for name in sorted(world.plugin.names()):
        if any(part in _TESTS for part in name.split(".")):
            continue
        if any(needle in world.plugin.data(name) for needle in needles):
            module = world.plugin.module(name)
            if module is not None:
                yield from sorted(_in_module(world, module), key=lambda p: (p.patch.line, p.patch.target))


def _in_module(world: World, module: Module) -> Iterator[Placed]:
    names = Names(module)
    for scope in names.scopes():
        yield from _walk(world, names, scope, scope.node.body, ())


def _walk(
    world: World, names: Names, scope: Scope, body: list[ast.stmt], under: tuple[str, ...]
) -> Iterator[Placed]:
    for item in body:
        yield from _statement(world, names, scope, item, under)
        if isinstance(item, FunctionNode | ast.ClassDef):
            continue
        for part in blocks(item):
            inner = under
            if isinstance(item, ast.If):
                test = ast.unparse(item.test)
                inner = (*under, test if part is item.body else f"not ({test})")
            elif isinstance(item, ast.Try) and part is not item.finalbody:
                inner = (*under, "try" if part is item.body else "except")
            yield from _walk(world, names, scope, part, inner)


def _statement(
    world: World, names: Names, scope: Scope, item: ast.stmt, under: tuple[str, ...]
) -> Iterator[Placed]:
    if isinstance(item, ast.Assign):
        for target in item.targets:
            yield from _assigned(world, names, scope, target, item.value, under)
    elif isinstance(item, ast.AnnAssign) and item.value is not None:
        yield from _assigned(world, names, scope, item.target, item.value, under)
    elif isinstance(item, ast.Delete):
        for target in item.targets:
            if isinstance(target, ast.Attribute):
                yield from _set(
                    world, names, scope, target.value, [target.attr], None, target, "delete", under
                )
    for node in expressions(item):
        if isinstance(node, ast.Call):
            yield from _call(world, names, scope, node, under)


def _assigned(
    world: World, names: Names, scope: Scope, target: ast.expr, value: ast.expr, under: tuple[str, ...]
) -> Iterator[Placed]:
    if isinstance(target, ast.Attribute):
        yield from _set(world, names, scope, target.value, [target.attr], value, target, "assign", under)
    elif isinstance(target, ast.Subscript):
        for name in names.dotted(target, scope):  # sys.modules["vllm.x"] = stub
            if world.is_engine(name):
                place = Patch(
                    file=names.module.path, line=target.lineno, owner=name, name="", how="module", under=under
                )
                yield Placed(place)


def _call(
    world: World, names: Names, scope: Scope, node: ast.Call, under: tuple[str, ...]
) -> Iterator[Placed]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called == "setattr" and len(node.args) == 3:
        wanted = names.strings(node.args[1], scope)
        yield from _set(world, names, scope, node.args[0], wanted, node.args[2], node, "setattr", under)
    elif called == "delattr" and len(node.args) == 2:
        wanted = names.strings(node.args[1], scope)
        yield from _set(world, names, scope, node.args[0], wanted, None, node, "delete", under)
    elif called == "extend_enum" and len(node.args) >= 2:
        wanted = names.strings(node.args[1], scope)
        yield from _set(world, names, scope, node.args[0], wanted, None, node, "enum", under)


def _set(
    world: World,
    names: Names,
    scope: Scope,
    owner: ast.expr,
    wanted: list[str],
    value: ast.expr | None,
    node: ast.expr,
    how: Literal["assign", "setattr", "delete", "enum", "module"],
    under: tuple[str, ...],
) -> Iterator[Placed]:
    for full in names.dotted(owner, scope):
        found = world.find(full)
        canonical = found.name if found.kind in ("module", "class") else full
        if not world.is_engine(canonical) or found.kind in ("value", "function", "open"):
            continue
        function, replacement = _replacement(names, scope, value)
        for name in wanted:
            patch = Patch(
                file=names.module.path, line=node.lineno, owner=canonical, name=name, how=how, under=under,
                replacement=replacement,
            )  # fmt: skip
            yield Placed(patch, function)


def _replacement(
    names: Names, scope: Scope, value: ast.expr | None
) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None, str | None]:
    """The function that a patch puts in place, and its name."""
    if isinstance(value, ast.Lambda):
        return value, None
    if isinstance(value, ast.Call) and value.args:
        called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        return _replacement(names, scope, value.args[0]) if called in _WRAPPERS else (None, None)
    if value is None:
        return None, None
    full = next(iter(names.dotted(value, scope)), None)
    node = scope.definition(value.id) if isinstance(value, ast.Name) else None
    return (node if isinstance(node, FunctionNode) else None), full
