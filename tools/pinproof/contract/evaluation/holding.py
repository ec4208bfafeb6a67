"""Classes of the tree whose objects hold something of a library, and in which attributes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pinproof.contract.evaluation import attributes
from pinproof.contract.evaluation.lineage import lineage
from pinproof.contract.evaluation.results import returned
from pinproof.contract.evaluation.values import (
    EngineClass,
    EngineFunction,
    EngineInstance,
    Entering,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    OpenMember,
    Partial,
    Value,
)  # fmt: skip
from pinproof.contract.syntax.nodes import FunctionNode, dotted
from pinproof.contract.syntax.scopes import SourceFile

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator

_OF_LIBRARY = (LibraryModule, LibraryMember, LibraryInstance, OpenMember, Partial, Entering)


def exported(evaluator: Evaluator, file: SourceFile) -> set[str]:
    """`Class.attribute` for each class of the module that another file can reach a library through."""
    relevant = evaluator.relevant(file)
    known = evaluator.codebase.holders(file) | {cls.name for cls in relevant.holders}
    found: set[str] = set()
    for step in file.scope.steps:
        node = step.node
        if isinstance(node, ast.ClassDef) and (node in relevant.holders or _bases(node) & known):
            evaluator.begin()
            cls = evaluator.engine_class(file.scope.inner(node, node.name, step))
            found.update(f"{node.name}.{name}" for name in _held(evaluator, cls))
    return found


def _bases(node: ast.ClassDef) -> set[str]:
    return {(dotted(base) or "").rpartition(".")[2] for base in node.bases}


def _held(evaluator: Evaluator, cls: EngineClass) -> set[str]:
    """The attributes of a class, its bases in the tree included, that give something of a library."""
    found: set[str] = set()
    for each in lineage(evaluator, cls):
        file = each.scope.file
        assert isinstance(file, SourceFile)
        relevant = evaluator.relevant(file)
        spreads = {scope.node for scope, _ in relevant.statements}
        for name in relevant.names & (
            set(each.scope.bindings) | set(attributes.self_assignments(each.scope))
        ):
            evaluator.begin()
            values = evaluator.attribute(EngineInstance(cls), name)
            if any(_gives(evaluator, value) for value in values):
                found.add(name)
        for name, bindings in each.scope.bindings.items():
            node = bindings[0].node
            if isinstance(node, FunctionNode) and node.args.kwarg is not None and node in spreads:
                found.add(name)  # it may hand its keywords on
    return found


def _gives(evaluator: Evaluator, value: Value) -> bool:
    """Whether a field, property or method with this value leads to a library."""
    if isinstance(value, EngineFunction) and not isinstance(value.node, ast.Lambda):
        return any(isinstance(v, _OF_LIBRARY) for v in returned(evaluator, value, {}, keep=True))
    return isinstance(value, _OF_LIBRARY)
