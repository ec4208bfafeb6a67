"""Which files of a tree can reach a watched library: those that import one, and those that import from these."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from pinproof.contract import scan
from pinproof.contract.engine import SourceFile, module_of
from pinproof.contract.evaluate import Evaluator
from pinproof.contract.listing import python_files, read
from pinproof.contract.modules import absolute
from pinproof.contract.values import (
    Absent,
    EngineClass,
    EngineFunction,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    Mapping,
    OpenMember,
    Partial,
    Value,
)  # fmt: skip

_ROUNDS = 3
_OF_LIBRARY = (LibraryModule, LibraryMember, LibraryInstance, OpenMember, Partial, Absent)


def relevant(evaluator: Evaluator) -> tuple[list[str], int]:
    """The files that can reach a library, and how many were looked at.

    What the files export is kept in the evaluator's engine, as `carried`.
    """
    engine = evaluator.engine
    importing: dict[str, list[scan.Imported]] = {}
    direct: list[str] = []
    for item in python_files(engine.tree, engine.packages):
        data = read(engine.tree, item)
        if data is None:
            continue
        found = list(scan.imports(data))
        importing[item.path] = found
        if engine.mentions(data, found):
            direct.append(item.path)
    chosen = dict.fromkeys(direct)
    fresh = direct
    for _ in range(_ROUNDS):
        carried = _carried(evaluator, fresh)
        engine.carried.update(carried)
        fresh = [p for p, found in importing.items() if p not in chosen and _takes(p, found, carried)]
        chosen.update(dict.fromkeys(fresh))
        if not fresh:
            break
    return sorted(chosen), len(importing)


def prepare(evaluator: Evaluator, files: Sequence[str]) -> None:
    """Learn what a few files import from others of the tree, without looking at the rest of it."""
    engine = evaluator.engine
    for path in files:
        name, package = module_of(path)
        for item in scan.imports(engine.tree.read(path) or b""):
            module = absolute(name, package, item.module, item.level) if item.level else item.module
            source = engine.module(module) if engine.has_module(module) else None
            if source is not None and module not in engine.carried:
                names = _exported(evaluator, source)
                if names:
                    engine.carried[module] = names


def _takes(path: str, found: Iterable[scan.Imported], carried: dict[str, set[str]]) -> bool:
    name, package = module_of(path)
    for item in found:
        module = absolute(name, package, item.module, item.level) if item.level else item.module
        if module in carried and (not item.names or not carried[module].isdisjoint(item.names)):
            return True
        if any(f"{module}.{n}" in carried for n in item.names):
            return True
    return False


def _carried(evaluator: Evaluator, paths: Iterable[str]) -> dict[str, set[str]]:
    """The module-level names of these files that stand for something of a watched library."""
    found: dict[str, set[str]] = {}
    for path in paths:
        file = evaluator.engine.file(path)
        if file is None:
            continue
        names = _exported(evaluator, file)
        if names:
            found[file.module] = names
    return found


def _exported(evaluator: Evaluator, file: SourceFile) -> set[str]:
    bound = set(file.scope.bindings) | set(file.set_in_functions())
    names = evaluator.relevant(file).names & bound
    return {n for n in names if any(_carries(evaluator, v) for v in evaluator.module_name(file.scope, n))}


def _carries(evaluator: Evaluator, value: Value) -> bool:
    """Whether another file that holds this value can reach a library through it."""
    if isinstance(value, _OF_LIBRARY):
        return True
    if isinstance(value, EngineFunction):
        from pinproof.contract.results import returned

        if isinstance(value.node, ast.Lambda) or value.node.args.kwarg is not None:
            return True
        return any(isinstance(v, (*_OF_LIBRARY, Mapping)) for v in returned(evaluator, value, {}, keep=True))
    return isinstance(value, EngineClass)
