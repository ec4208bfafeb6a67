"""Probes elsewhere in the tree that decide what a call is given: `"out" in signature(lib.f).parameters`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pinproof.contract.codebase import listing
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import LibraryMember, OpenMember, Sequence, Values
from pinproof.contract.syntax.bindings import own_expressions
from pinproof.contract.syntax.nodes import absolute, dotted
from pinproof.contract.syntax.scopes import module_of, scopes

# How many imports may lie between a probe and the call that it decides about.
_FARTHEST = 3


def elsewhere(evaluator: Evaluator, callee: str, name: str, file: str) -> tuple[str, bool] | None:
    """Where a signature of `callee` is asked for `name`, and whether imports join it with `file`.

    Where none do, a third file may bring the two together: that cannot be told.
    """
    far: tuple[str, bool] | None = None
    for path in _files(evaluator):
        for asked, line, functions in _probes(evaluator, path):
            if asked == name and callee in _paths(functions):
                text = f"{path}:{line}: a signature of {callee} is asked for {name}"
                if _reaches(evaluator, path, file):
                    return text, True
                far = far or (f"{text}, and whether that decides here is not known", False)
    return far


def _files(evaluator: Evaluator) -> Iterator[str]:
    codebase = evaluator.codebase
    for item in listing.python_files(codebase.tree, codebase.packages):
        data = listing.read(codebase.tree, item) or b""
        if b"signature(" in data and codebase.mentions(data):
            yield item.path


def _probes(evaluator: Evaluator, path: str) -> Iterator[tuple[str, int, Values]]:
    """The probes of a file: the parameter, the line, and what the signature is that of."""
    file = evaluator.codebase.file(path)
    for scope in scopes(file.scope) if file is not None else ():
        for step in scope.steps:
            for expression in own_expressions(step.node):
                for node in ast.walk(expression):
                    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant):
                        for call in ast.walk(node.comparators[0]):
                            if isinstance(call, ast.Call) and _is_signature(call):
                                at = Position(scope, step.path, step.order)
                                given = _given(evaluator, call.args[0], expression, at)
                                yield str(node.left.value), node.lineno, given


def _is_signature(call: ast.Call) -> bool:
    return (dotted(call.func) or "").rpartition(".")[2] == "signature" and bool(call.args)


def _given(evaluator: Evaluator, node: ast.expr, around: ast.expr, at: Position) -> Values:
    """What the signature is asked of; each in turn when a comprehension goes through several."""
    for child in ast.walk(around):
        if isinstance(child, ast.comprehension) and ast.dump(child.target).replace(
            "Store", "Load"
        ) == ast.dump(node):
            values = evaluator.value(child.iter, at)
            return tuple(v for s in values if isinstance(s, Sequence) for e in s.elements for v in e)
    return evaluator.value(node, at)


def _paths(functions: Values) -> set[str]:
    return {v.path for v in functions if isinstance(v, LibraryMember | OpenMember)}


def _reaches(evaluator: Evaluator, one: str, other: str) -> bool:
    """Whether one file imports the other, itself or through others, in whichever direction."""
    return one == other or _leads(evaluator, one, other) or _leads(evaluator, other, one)


def _leads(evaluator: Evaluator, start: str, end: str) -> bool:
    wanted = module_of(end)[0]
    seen = fresh = {module_of(start)[0]}
    for _ in range(_FARTHEST):
        fresh = {m for name in fresh for m in _imports(evaluator, name)} - seen
        if wanted in fresh:
            return True
        seen = seen | fresh
    return False


def _imports(evaluator: Evaluator, module: str) -> Iterator[str]:
    codebase = evaluator.codebase
    path = codebase.path(module)
    if path is None:
        return
    package = path.endswith("/__init__.py")
    for item in codebase.imports(codebase.tree.read(path) or b""):
        source = absolute(module, package, item.module, item.level)
        yield source
        yield from (f"{source}.{name}" for name in item.names)
