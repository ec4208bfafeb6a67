"""What classes of the tree have from a base class that a watched library declares."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pinproof.contract.declared import callables
from pinproof.contract.evaluation.lineage import lineage
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import (
    UNKNOWN,
    EngineClass,
    EngineInstance,
    External,
    LibraryInstance,
    LibraryMember,
    Value,
    Values,
)  # fmt: skip
from pinproof.contract.syntax.nodes import dotted

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator

# Bases that hold nothing that is called.
_INERT = {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"}
_MAKES = {"__init__", "__new__"}


def base(evaluator: Evaluator, cls: EngineClass) -> LibraryMember | None:
    """The one library class that a class of the tree inherits from, when no other base can hide it."""
    found: LibraryMember | None = None
    for each in lineage(evaluator, cls):
        if each.node.keywords:
            return None
        for value in bases(evaluator, each):
            if isinstance(value, LibraryMember) and value.member.kind == "class" and found is None:
                found = value
            elif not isinstance(value, EngineClass) and not _is_inert(value):
                return None
    return found


def _is_inert(value: Value) -> bool:
    return isinstance(value, External) and value.name in _INERT


def bases(evaluator: Evaluator, cls: EngineClass) -> Values:
    """What the bases of a class statement stand for."""
    at = evaluator.at(cls.scope.parent or cls.scope)
    nodes = [b.value if isinstance(b, ast.Subscript) else b for b in cls.node.bases]
    return tuple(value for node in nodes for value in evaluator.value(node, at))


def constructor(evaluator: Evaluator, cls: EngineClass) -> LibraryMember | None:
    """The library class whose constructor makes an object of `cls`; None when that cannot be told."""
    classes = lineage(evaluator, cls)
    if any(each.node.decorator_list or not _MAKES.isdisjoint(each.scope.bindings) for each in classes):
        return None
    return base(evaluator, cls)


def unimplemented(evaluator: Evaluator, cls: EngineClass) -> tuple[LibraryMember | None, tuple[str, ...]]:
    """The library's base of a class, and those of its abstract methods that are nowhere implemented."""
    found = base(evaluator, cls)
    if found is None:
        return None, ()
    own = {name for each in lineage(evaluator, cls) for name in each.scope.bindings}
    return found, tuple(n for n in callables.unimplemented(found.library, found.member) if n not in own)


def attribute(evaluator: Evaluator, cls: EngineClass, name: str) -> Values:
    """What `name` is on an object of `cls`, when only the library's base can have it."""
    found = base(evaluator, cls)
    if found is None:
        return UNKNOWN
    return evaluator.attribute(LibraryInstance(found.library, found.path, found.member), name)


def superior(evaluator: Evaluator, at: Position) -> Values:
    """What `super()` is in a method: an object of the only base."""
    scope = at.scope
    while scope.enclosing_class is None:
        if scope.parent is None:
            return UNKNOWN
        scope = scope.parent
    cls = evaluator.engine_class(scope.enclosing_class)
    decorators = {(dotted(d) or "").rpartition(".")[2] for d in getattr(scope.node, "decorator_list", ())}
    values = [v for v in bases(evaluator, cls) if not _is_inert(v)]
    if len(values) != 1 or not decorators.isdisjoint(("classmethod", "staticmethod")):
        return UNKNOWN
    value = values[0]
    if isinstance(value, EngineClass):
        return (EngineInstance(value),)
    if isinstance(value, LibraryMember) and value.member.kind == "class":
        return (LibraryInstance(value.library, value.path, value.member),)
    return UNKNOWN
