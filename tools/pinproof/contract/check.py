"""Check the calls of a tree against the libraries it pins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pinproof.contract.codebase.codebase import Codebase
from pinproof.contract.codebase.listing import packages, prefetch, python_files
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.judging.siteloop import check_file
from pinproof.contract.model import Report, Unread
from pinproof.contract.run import cache, spread, whole
from pinproof.contract.run.whole import Known
from pinproof.contract.sources.libraries import Libraries
from pinproof.contract.syntax.parse import without_gc
from pinproof.contract.watch.watchlist import Watched, for_packages
from pinproof.contract.watch.watchlist import shipped as shipped_watchlist
from pinproof.tree import Tree


def check_tree(
    tree: Tree,
    *,
    callee: str | None = None,
    files: Sequence[str] | None = None,
    libraries: Mapping[str, str] | None = None,
    watched: Sequence[Watched] | None = None,
    cached: bool = False,
) -> Report:
    """Check the calls a tree makes into watched libraries; nothing of the tree is imported or run.

    Args:
        tree: any tree.
        callee: only calls of this one, by its full name in the library, e.g. `deep_gemm.fp8_fp4_mega_moe`.
        files: only calls in these files, by path in the tree; others are read as far as they are needed.
        libraries: library name to SPEC (see sources.from_spec), over what the tree vendors and pins.
        watched: the watch list; default is the shipped one.
        cached: reuse what an earlier run found, where nothing that it depends on has changed.

    Raises:
        InputError: a SPEC in `libraries` names no watched library.
    """
    with without_gc():
        return _check(tree, callee, files, libraries or {}, tuple(watched or shipped_watchlist()), cached)


def _check(
    tree: Tree,
    callee: str | None,
    files: Sequence[str] | None,
    overrides: Mapping[str, str],
    watch: tuple[Watched, ...],
    cached: bool,
) -> Report:
    watch = for_packages(watch, packages(tree))
    libraries = Libraries(tree, overrides, watch)
    codebase = Codebase(tree, watch, libraries)
    evaluator = Evaluator(codebase)
    if files is None:
        prefetch(tree, codebase.packages)
    if callee is None and (files is None or cached):
        known = _whole(evaluator, cached, files)
        if known is not None:
            return _report(evaluator, known, files)
    if files is not None:
        if callee is None:  # one callee is looked for by its own name, and needs its own library only
            spread.prepare(evaluator, files)
        chosen = list(files)
    else:
        chosen = [f.path for f in python_files(tree, codebase.packages)]
    checks = {path: list(check_file(evaluator, path, callee)) for path in chosen}
    return _report(evaluator, Known(dict.fromkeys(chosen, ""), {}, {}, checks, dict(codebase.unread)), files)


def _whole(evaluator: Evaluator, cached: bool, files: Sequence[str] | None) -> Known | None:
    """The checks of the whole tree; None when only some files are asked for and no run is remembered."""
    codebase = evaluator.codebase
    if not cached:
        return whole.everything(evaluator)
    basis = cache.basis([codebase.libraries.basis(), cache.beside(codebase.tree, codebase.import_names)])
    place = cache.place(codebase.tree)
    before = cache.load(place, basis)
    if before is None and files is not None:
        return None
    hashes, stamps = cache.digests(codebase.tree, codebase.packages, before)
    if before is not None:
        codebase.libraries.adopt(
            {u.library: u for u in before.used}, {u.library: u for u in before.unchecked}
        )
        if cache.unchanged(before, hashes):
            return before.known
    known = whole.changes(evaluator, before.known, hashes) if before is not None else None
    if known is None:
        codebase.carried = {}
        known = whole.everything(evaluator, hashes)
    libraries = codebase.libraries
    used, unchecked = list(libraries.used.values()), list(libraries.unchecked.values())
    cache.save(place, cache.Saved(basis, known, stamps, used, unchecked))
    return known


def _report(evaluator: Evaluator, known: Known, files: Sequence[str] | None) -> Report:
    libraries = evaluator.codebase.libraries
    wanted = known.checks if files is None else {f: known.checks[f] for f in files if f in known.checks}
    checks = [check for found in wanted.values() for check in found]
    names = {check.library for check in checks}
    return Report(
        tree=evaluator.codebase.tree.name,
        calls=sorted(checks, key=lambda c: (c.file, c.line, c.col)),
        libraries=[u for name, u in sorted(libraries.used.items()) if files is None or name in names],
        unchecked=[u for name, u in sorted(libraries.unchecked.items()) if files is None or name in names],
        unread=[
            Unread(file=path, reason=reason)
            for path, reason in sorted(known.unread.items())
            if files is None or path in files
        ],
        files_seen=len(known.digests) if files is None else len(files),
        files_parsed=evaluator.codebase.parsed,
    )
