"""What moving pins would change: the calls that break, those that fail already, those that are mended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from pinproof.contract.check import check_tree
from pinproof.contract.model import Report
from pinproof.contract.output.findings import Finding, findings
from pinproof.contract.watch.watchlist import Watched
from pinproof.tree import Tree


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """The difference between a tree as it pins its libraries and with some of them moved.

    `report` is of the moved libraries alone; `broken` fail only then, `already` fail either way, `mended`
    only as it is pinned now.
    """

    report: Report
    broken: tuple[Finding, ...]
    already: tuple[Finding, ...]
    mended: tuple[Finding, ...]


def move(
    tree: Tree, moves: Mapping[str, str], *, files: Sequence[str] | None = None,
    libraries: Mapping[str, str], watched: tuple[Watched, ...], cached: bool = False, guarded: bool = False,
    settle: Callable[[Report], Report] = lambda report: report,
) -> Moved:  # fmt: skip
    """Check a tree as it is and with some libraries at other versions.

    Args:
        tree: any tree.
        moves: library name to the version it would be pinned to.
        files, libraries, watched, cached: as for check_tree.
        guarded: count drifts behind a guard too.
        settle: what more is known about a report's calls.
    """
    now, then = (
        settle(check_tree(tree, files=files, libraries=chosen, watched=watched, cached=cached))
        for chosen in (libraries, {**libraries, **moves})
    )
    before, after = (
        {f.id: f for f in findings(report.calls, guarded=guarded) if f.library in moves}
        for report in (now, then)
    )
    then.calls = [call for call in then.calls if call.library in moves]
    then.libraries = [
        msgspec.structs.replace(u, source="given as --with") for u in then.libraries if u.library in moves
    ]
    then.unchecked = [u for u in then.unchecked if u.library in moves]
    then.torn = []  # the question is about pins that nobody has written yet
    return Moved(
        report=then,
        broken=tuple(f for i, f in after.items() if i not in before),
        already=tuple(f for i, f in after.items() if i in before),
        mended=tuple(f for i, f in before.items() if i not in after),
    )
