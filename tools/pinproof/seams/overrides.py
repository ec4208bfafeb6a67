"""The methods of a plugin that override its engine's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pinproof.contract.declared.parameters import parameters
from pinproof.contract.model import Parameter, Place, Signature
from pinproof.seams.code import Found, FunctionNode, World, methods, own_member
from pinproof.seams.targets import is_test

Function = ast.FunctionDef | ast.AsyncFunctionDef
_PROPERTIES = frozenset({"property", "cached_property", "setter", "abstractproperty"})
# What leaves a method's signature as it is written.
_PLAIN = frozenset(
    {
        "staticmethod", "classmethod", "abstractmethod", "override", "inference_mode", "no_grad",
        "deprecated", "final", "lru_cache", "cache", "instrument", "wraps",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Override:
    """A method of a plugin's class that hides one of the engine's.

    Attributes:
        cls: the plugin's class.
        node: the method.
        engine: what it overrides: the nearest definition among the engine's bases.
        lineage: the canonical names of the class's bases that are the engine's.
    """

    cls: Found
    node: Function
    engine: Found
    lineage: tuple[str, ...]


def classes(world: World, word: bytes = b"class ") -> Iterator[tuple[Found, list[Found]]]:
    """The plugin's classes that have bases in the engine, each with its whole lineage.

    Args:
        world: the plugin and the engine.
        word: only those of modules that hold this text.
    """
    needles = [package.encode() for package in (*world.engine.packages, *world.plugin.packages)]
    for name in sorted(world.plugin.names()):
        data = world.plugin.data(name)
        if (
            b"class " not in data
            or word not in data
            or not any(needle in data for needle in needles)
            or is_test(name)
        ):
            continue
        module = world.plugin.module(name)
        for nodes in module.names.values() if module is not None else ():
            for node in nodes:
                if isinstance(node, ast.ClassDef) and node.bases and module is not None:
                    cls = Found("class", f"{name}.{node.name}", module, node)
                    lineage = world.lineage(cls)
                    if any(c.kind == "class" and world.is_engine(c.name) for c in lineage):
                        yield cls, lineage


def overrides(world: World, cls: Found, lineage: list[Found]) -> Iterator[Override]:
    """The methods of one class that hide one of the engine's; properties and dunder methods are left out."""
    engine = [c for c in lineage if c.kind == "class" and world.is_engine(c.name)]
    names = tuple(c.name for c in engine)
    for node in methods(cls):
        if node.name.startswith("__") or is_property(node):
            continue
        hidden = _nearest(engine, node.name)
        if hidden is not None:
            yield Override(cls, node, hidden, names)


def _nearest(engine: list[Found], name: str) -> Found | None:
    for cls in engine:
        member = own_member(cls, name)
        if isinstance(member, FunctionNode) and not is_property(member):
            return Found("function", f"{cls.name}.{name}", cls.module, member)
        if member is not None:
            return None
    return None


def is_property(node: Function) -> bool:
    """Whether a method is read as an attribute."""
    return bool(_PROPERTIES & {_last(d) for d in node.decorator_list})


def signature(found: Function, place: str, name: str, *, bound: bool = True) -> Signature | None:
    """What a method takes, without `self`; None where a decorator may change it."""
    decorators = {_last(d) for d in found.decorator_list}
    if decorators - _PLAIN:
        return None
    given: list[Parameter] = list(parameters(found.args))
    if bound and "staticmethod" not in decorators and given and given[0].kind != "var-positional":
        given = given[1:]
    file, _, line = place.rpartition(":")
    return Signature(
        name=name, parameters=tuple(given), place=Place(source="", file=file, line=int(line or 0))
    )


def _last(node: ast.expr) -> str:
    inner = node.func if isinstance(node, ast.Call) else node
    return inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "?")
