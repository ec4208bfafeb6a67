"""Attributes that the tree itself gives to a library's objects: `wrapper.extra = 1` in any of its files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pinproof.contract.codebase import listing
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import LibraryInstance, LibraryMember, Values
from pinproof.contract.syntax.scopes import SourceFile, scopes

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator


def is_stored(evaluator: Evaluator, owners: Values, name: str) -> bool:
    """Whether a file of the tree sets an attribute of this name on an object like one of `owners`.

    Only asked for names that the library lacks, so that a search of the whole text is cheap enough.
    """
    paths = {owner.path for owner in owners if isinstance(owner, LibraryInstance | LibraryMember)}
    return any(
        isinstance(value, LibraryInstance | LibraryMember) and value.path in paths
        for file in _files(evaluator, name)
        for node, at in _stores(file, name)
        for value in evaluator.value(node, at)
    )


def _files(evaluator: Evaluator, name: str) -> Iterator[SourceFile]:
    codebase = evaluator.codebase
    pattern = re.compile(rb"\.\s*" + re.escape(name.encode()) + rb"\s*(?::|=(?!=))")
    for item in listing.python_files(codebase.tree, codebase.packages):
        data = listing.read(codebase.tree, item)
        if data is not None and name.encode() in data and pattern.search(data):
            file = codebase.file(item.path)
            if file is not None:
                yield file


def _stores(file: SourceFile, name: str) -> Iterator[tuple[ast.expr, Position]]:
    for scope in scopes(file.scope):
        for step in scope.steps:
            targets = (
                step.node.targets
                if isinstance(step.node, ast.Assign)
                else [step.node.target]
                if isinstance(step.node, ast.AnnAssign)
                else []
            )
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr == name:
                    yield target.value, Position(scope, step.path, step.order)
