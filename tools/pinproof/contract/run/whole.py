"""Check every file of a tree, or only what changed since the last time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from pinproof.contract.codebase.listing import python_files, read, why_unread
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.model import CallCheck
from pinproof.contract.run import spread, worker
from pinproof.contract.syntax import scan
from pinproof.contract.syntax.scopes import module_of

# More changed files than this, and starting anew is as quick.
_FEW = 40


class Known(msgspec.Struct):
    """What a run knows of a tree's files, for itself and for the next run.

    Attributes:
        digests: each file's content hash.
        imports: for each file that can reach a library, the others of these that it imports from.
        carried: what each module exports (see spread).
        checks: the checks of each such file.
        unread: files that did not parse, and why.
    """

    digests: dict[str, str] = {}
    imports: dict[str, list[str]] = {}
    carried: dict[str, list[str]] = {}
    checks: dict[str, list[CallCheck]] = {}
    unread: dict[str, str] = {}


def digest(data: bytes) -> str:
    """The content hash of a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def everything(evaluator: Evaluator, digests: Mapping[str, str] | None = None) -> Known:
    """Check every file of the tree.

    Args:
        evaluator: a fresh one.
        digests: content hashes that are known already; the others are computed.
    """
    codebase = evaluator.codebase
    importing: dict[str, list[scan.Imported]] = {}
    hashes: dict[str, str] = {}
    direct: list[str] = []
    for item in python_files(codebase.tree, codebase.packages):
        data = read(codebase.tree, item)
        if data is None:
            codebase.unread[item.path] = why_unread(codebase.tree, item)
            continue
        if digests is not None:
            hashes[item.path] = digests.get(item.path) or digest(data)
        found = importing[item.path] = list(codebase.imports(data))
        if codebase.mentions(data, found):
            direct.append(item.path)
    codebase.ask_for({m for p in direct for m in codebase.libraries_in(importing[p])})
    crew = worker.crew(evaluator, len(direct))
    try:
        chosen, all_carried = _spread(crew, importing, direct)
        found_checks = crew.check(sorted(chosen))
    finally:
        if isinstance(crew, worker.Pair):
            crew.close()
    modules = {module_of(path)[0]: path for path in chosen}
    by_file: dict[str, list[CallCheck]] = {path: [] for path in chosen}
    for check in found_checks:
        by_file[check.file].append(check)
    return Known(
        digests=hashes or dict.fromkeys(importing, ""),
        imports={p: sorted(spread.imported_paths(p, importing[p], modules)) for p in chosen},
        carried={module: sorted(names) for module, names in all_carried.items()},
        checks=by_file,
        unread=dict(codebase.unread),
    )


def _spread(
    crew: worker.Crew, importing: Mapping[str, list[scan.Imported]], direct: list[str]
) -> tuple[list[str], spread.Carried]:
    chosen = dict.fromkeys(direct)
    fresh = direct
    found: spread.Carried = {}
    for _ in range(spread.ROUNDS):
        carried = crew.carried(fresh)
        crew.learn(carried)
        found.update(carried)
        fresh = [p for p, items in importing.items() if p not in chosen and spread.takes(p, items, carried)]
        chosen.update(dict.fromkeys(fresh))
        if not fresh:
            break
    return list(chosen), found


def changes(evaluator: Evaluator, before: Known, now: Mapping[str, str]) -> Known | None:
    """Check what changed since `before`; None when so much did that everything must be looked at.

    Args:
        evaluator: a fresh one.
        before: what the last run found.
        now: the content hash of each file.
    """
    changed = [path for path, value in now.items() if before.digests.get(path) != value]
    if before.digests.keys() != now.keys() or len(changed) > _FEW:
        return None
    codebase = evaluator.codebase
    codebase.carried = {module: set(names) for module, names in before.carried.items()}
    imports = dict(before.imports)
    modules = {module_of(path)[0]: path for path in imports}
    for path in changed:
        items = _unchanged_in_kind(evaluator, path, before)
        if items is None:
            return None
        if path in imports:
            imports[path] = sorted(spread.imported_paths(path, items, modules))
    affected = _dependents(imports, changed)
    checks = dict(before.checks)
    checks.update((path, worker.Alone(evaluator).check([path])) for path in affected)
    unread = {path: why for path, why in before.unread.items() if path not in changed}
    return Known(dict(now), imports, before.carried, checks, {**unread, **codebase.unread})


def _unchanged_in_kind(evaluator: Evaluator, path: str, before: Known) -> list[scan.Imported] | None:
    """The imports of a changed file, None when it now reaches libraries in another way than before."""
    codebase = evaluator.codebase
    data = codebase.tree.read(path)
    if data is None:
        return None
    items = list(codebase.imports(data))
    reaches = codebase.mentions(data, items) or spread.takes(path, items, codebase.carried)
    if reaches != (path in before.imports):
        return None
    if reaches:
        file = codebase.file(path)
        names = sorted(spread.exported(evaluator, file)) if file is not None else []
        if names != before.carried.get(module_of(path)[0], []):
            return None
    return items


def _dependents(imports: Mapping[str, list[str]], changed: list[str]) -> list[str]:
    """The files that import a changed one, directly or through others, and the changed ones themselves."""
    importers: dict[str, list[str]] = {}
    for path, sources in imports.items():
        for source in sources:
            importers.setdefault(source, []).append(path)
    found = dict.fromkeys(path for path in changed if path in imports)
    for path in found.copy():
        stack = [path]
        while stack:
            for importer in importers.get(stack.pop(), ()):
                if importer not in found:
                    found[importer] = None
                    stack.append(importer)
    return list(found)
