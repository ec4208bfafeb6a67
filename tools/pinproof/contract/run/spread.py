"""Which files can reach a watched library: those that import one, and those that import from these."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from pinproof.contract.evaluation import holding, inherited
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.results import returned
from pinproof.contract.evaluation.values import (
    Absent,
    EngineClass,
    EngineFunction,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    OpenMember,
    Partial,
    Value,
)  # fmt: skip
from pinproof.contract.evaluation.values import Mapping as DictOf
from pinproof.contract.syntax import scan
from pinproof.contract.syntax.nodes import absolute
from pinproof.contract.syntax.scopes import SourceFile, module_of

# Re-exports of re-exports of a name that reaches a library: deeper than this was never seen.
ROUNDS = 3
_OF_LIBRARY = (LibraryModule, LibraryMember, LibraryInstance, OpenMember, Partial, Absent)

Carried = dict[str, set[str]]
"""Module to the names in it that stand for something of a watched library."""


def takes(path: str, found: Iterable[scan.Imported], carried: Mapping[str, set[str]]) -> bool:
    """Whether a file imports one of the carried names."""
    name, package = module_of(path)
    for item in found:
        module = absolute(name, package, item.module, item.level) if item.level else item.module
        if module in carried and (not item.names or _gives(carried[module], item.names)):
            return True
        if any(f"{module}.{n}" in carried for n in item.names):
            return True
    return False


def _gives(carried: set[str], names: Sequence[str]) -> bool:
    """Whether one of these names is carried, itself or as a class that holds something."""
    wanted = set(names)
    return "*" in wanted or any(name.partition(".")[0] in wanted for name in carried)


def imported_paths(path: str, found: Iterable[scan.Imported], known: Mapping[str, str]) -> set[str]:
    """The files among `known` (module to path) that a file imports from."""
    name, package = module_of(path)
    modules: set[str] = set()
    for item in found:
        module = absolute(name, package, item.module, item.level) if item.level else item.module
        modules.add(module)
        modules.update(f"{module}.{n}" for n in item.names)
    return {known[m] for m in modules if m in known}


def carried(evaluator: Evaluator, paths: Iterable[str]) -> Carried:
    """The module-level names of these files that stand for something of a watched library."""
    found: Carried = {}
    for path in paths:
        file = evaluator.codebase.file(path)
        if file is not None:
            names = _exported_or_named(evaluator, file)
            if names:
                found[file.module] = names
    return found


def _exported_or_named(evaluator: Evaluator, file: SourceFile) -> set[str]:
    """What a file exports; one that breaks the gate is named as not read, and exports nothing."""
    try:
        return exported(evaluator, file)
    except Exception as error:
        evaluator.codebase.unread[file.path] = f"internal error: {type(error).__name__}"
        return set()


def exported(evaluator: Evaluator, file: SourceFile) -> set[str]:
    """The names of one file that another can import to reach a library."""
    bound = set(file.scope.bindings) | set(file.set_in_functions())
    names = evaluator.relevant(file).names & bound
    found: set[str] = set()
    for name in names:
        evaluator.begin()
        if any(_carries(evaluator, value) for value in evaluator.module_name(file.scope, name)):
            found.add(name)
    return found | holding.exported(evaluator, file)


def _carries(evaluator: Evaluator, value: Value) -> bool:
    """Whether another file that holds this value can reach a library through it."""
    if isinstance(value, _OF_LIBRARY):
        return True
    if isinstance(value, EngineClass):
        return inherited.base(evaluator, value) is not None
    if isinstance(value, EngineFunction):
        if isinstance(value.node, ast.Lambda) or value.node.args.kwarg is not None:
            return True
        return any(isinstance(v, (*_OF_LIBRARY, DictOf)) for v in returned(evaluator, value, {}, keep=True))
    return False


def prepare(evaluator: Evaluator, files: Sequence[str]) -> None:
    """Learn what a few files import from others of the tree, without looking at the rest of it."""
    codebase = evaluator.codebase
    for path in files:
        name, package = module_of(path)
        for item in codebase.imports(codebase.tree.read(path) or b""):
            module = absolute(name, package, item.module, item.level) if item.level else item.module
            source = codebase.module(module) if codebase.has_module(module) else None
            if source is not None and module not in codebase.carried:
                names = exported(evaluator, source)
                if names:
                    codebase.carried[module] = names
