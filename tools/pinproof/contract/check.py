"""Check the calls of a tree against the libraries it pins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pinproof.contract import calls
from pinproof.contract.engine import Engine
from pinproof.contract.evaluate import Evaluator
from pinproof.contract.judge import judge
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
) -> Report:
    """Check the calls a tree makes into watched libraries; nothing of the tree is imported or run.

    Args:
        tree: any tree.
        callee: only calls of this one, by its full name in the library, e.g. `deep_gemm.fp8_fp4_mega_moe`.
        files: only calls in these files, by path in the tree; others are read as far as they are needed.
        libraries: library name to SPEC (see sources.from_spec), over what the tree vendors and pins.
        watched: the watch list; default is the shipped one.

    Raises:
        InputError: a SPEC in `libraries` names no watched library.
    """
    watch = tuple(watched or shipped_watchlist())
    found = Libraries(tree, libraries or {})
    engine = Engine(tree, watch, found)
    evaluator = Evaluator(engine)
    paths = list(files) if files is not None else list(tree.files.paths(tree.package, ".py"))
    checks = [check for path in paths for check in check_file(evaluator, path, callee)]
    return Report(
        tree=tree.name,
        calls=sorted(checks, key=lambda c: (c.file, c.line, c.col)),
        libraries=[found.used[name] for name in sorted(found.used)],
        unchecked=[found.unchecked[name] for name in sorted(found.unchecked)],
        unread=[Unread(file=path, reason=reason) for path, reason in sorted(engine.unread.items())],
        files_seen=len(paths),
        files_parsed=len(engine.read_paths),
    )


def check_file(evaluator: Evaluator, path: str, callee: str | None) -> Iterator[CallCheck]:
    """The checks of one file; only those of `callee` when that is given."""
    engine = evaluator.engine
    data = engine.tree.read(path)
    name = callee.rsplit(".", 1)[-1] if callee else None
    if data is None or (name is not None and name.encode() not in data):
        return
    if name is None and not engine.may_matter(data):
        return
    file = engine.file(path)
    if file is None:
        return
    seen: set[tuple[int, int, str]] = set()
    for site in calls.sites(Relevant(file, [name] if name else engine.seeds(file))):
        for check in judge(evaluator, site):
            key = (check.line, check.col, check.callee)
            if key not in seen and (callee is None or check.callee == callee):
                seen.add(key)
                yield check
