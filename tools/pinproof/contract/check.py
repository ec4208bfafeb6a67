"""Check the calls of a tree against the libraries it pins."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence

from pinproof.contract import calls, spread
from pinproof.contract.engine import Engine
from pinproof.contract.evaluate import Evaluator
from pinproof.contract.judge import judge
from pinproof.contract.listing import prefetch, python_files
from pinproof.contract.model import CallCheck, Report, Unread
from pinproof.contract.relevant import Relevant
from pinproof.contract.sources import Libraries
from pinproof.contract.watchlist import Watched
from pinproof.contract.watchlist import shipped as shipped_watchlist
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
        return _check(tree, callee, files, libraries or {}, tuple(watched or shipped_watchlist()))


@contextlib.contextmanager
def without_gc() -> Iterator[None]:
    """Syntax trees are large and hold no cycles worth collecting: the collector only costs time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _check(
    tree: Tree,
    callee: str | None,
    files: Sequence[str] | None,
    libraries: Mapping[str, str],
    watch: tuple[Watched, ...],
) -> Report:
    found = Libraries(tree, libraries)
    engine = Engine(tree, watch, found)
    evaluator = Evaluator(engine)
    if files is None:
        prefetch(tree, engine.packages)
    if files is not None:
        chosen, seen = list(files), len(files)
        spread.prepare(evaluator, files)
    elif callee is None:
        chosen, seen = spread.relevant(evaluator)
    else:
        chosen = [f.path for f in python_files(tree, engine.packages)]
        seen = len(chosen)
    checks = [check for path in chosen for check in check_file(evaluator, path, callee)]
    return Report(
        tree=tree.name,
        calls=sorted(checks, key=lambda c: (c.file, c.line, c.col)),
        libraries=[found.used[name] for name in sorted(found.used)],
        unchecked=[found.unchecked[name] for name in sorted(found.unchecked)],
        unread=[Unread(file=path, reason=reason) for path, reason in sorted(engine.unread.items())],
        files_seen=seen,
        files_parsed=engine.parsed,
    )


def check_file(evaluator: Evaluator, path: str, callee: str | None) -> Iterator[CallCheck]:
    """The checks of one file; only those of `callee` when that is given."""
    engine = evaluator.engine
    name = callee.rsplit(".", 1)[-1] if callee else None
    if name is not None and name.encode() not in (engine.tree.read(path) or b""):
        return
    file = engine.file(path)
    if file is None:
        return
    seen: set[tuple[int, int, str]] = set()
    for site in calls.sites(Relevant(file, [name]) if name else evaluator.relevant(file)):
        for check in judge(evaluator, site):
            key = (check.line, check.col, check.callee)
            if key not in seen and (callee is None or check.callee == callee):
                seen.add(key)
                yield check
