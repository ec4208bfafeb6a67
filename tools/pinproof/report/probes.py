"""Count the places where an engine's own code asks at run time what a library offers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pinproof.contract.codebase.codebase import Codebase
from pinproof.contract.codebase.listing import prefetch, python_files
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import LibraryInstance, LibraryMember, LibraryModule, OpenMember
from pinproof.contract.sources.libraries import Libraries
from pinproof.contract.syntax.nodes import dotted
from pinproof.contract.syntax.scopes import SourceFile
from pinproof.contract.watch.watchlist import shipped
from pinproof.tree import Tree

_WORDS = (b"hasattr", b"getattr", b"signature")
_OF_A_LIBRARY = LibraryModule | LibraryMember | LibraryInstance | OpenMember


def count_probes(tree: Tree) -> int:
    """How many calls of hasattr(), getattr() with a default, or inspect.signature() ask a watched library.

    Each is a place where the engine found out the hard way that a contract moves.
    """
    watch = shipped()
    codebase = Codebase(tree, watch, Libraries(tree, {}, watch))
    evaluator = Evaluator(codebase)
    prefetch(tree, codebase.packages)
    count = 0
    for item in python_files(tree, codebase.packages):
        data = tree.read(item.path)
        if data is None or not any(word in data for word in _WORDS) or not codebase.mentions(data):
            continue
        file = codebase.file(item.path)
        if file is not None:
            count += sum(_asks(evaluator, node, at) for node, at in _calls(evaluator, file))
    return count


def _calls(evaluator: Evaluator, file: SourceFile) -> Iterator[tuple[ast.Call, Position]]:
    for scope, step in evaluator.relevant(file).statements:
        at = Position(scope, step.path, step.order)
        for node in _own(step.node):
            if isinstance(node, ast.Call) and node.args and _is_probe(node):
                yield node, at


def _own(statement: ast.AST) -> Iterator[ast.AST]:
    """The expressions of one statement; those of statements inside it are theirs."""
    stack = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))


def _is_probe(node: ast.Call) -> bool:
    name = (dotted(node.func) or "").rpartition(".")[2]
    return name in ("hasattr", "signature") or (name == "getattr" and len(node.args) == 3)


def _asks(evaluator: Evaluator, node: ast.Call, at: Position) -> bool:
    evaluator.begin()
    return any(isinstance(value, _OF_A_LIBRARY) for value in evaluator.value(node.args[0], at))
