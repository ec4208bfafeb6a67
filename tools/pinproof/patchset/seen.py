"""The calls that a patch is about, read on one tree: those its contract names, or those it changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from pinproof.contract.model import CallCheck, Report, Unchecked
from pinproof.patchset.contracts import Contract
from pinproof.patchset.patchfile import Patch
from pinproof.tree import Tree


class Seen(msgspec.Struct, frozen=True):
    """What one look at a tree gave.

    `labels` names each library with its version, `sources` says how its signatures were come by, `notes`
    are things to know about them.
    """

    calls: tuple[CallCheck, ...]
    unchecked: tuple[Unchecked, ...] = ()
    labels: dict[str, str] = {}
    sources: dict[str, str] = {}
    notes: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[CallCheck, ...]:
        """The calls that fail when they run."""
        return tuple(call for call in self.calls if call.failing)

    @property
    def bound(self) -> tuple[CallCheck, ...]:
        """The calls that were matched to a signature."""
        return tuple(call for call in self.calls if call.open is None)


class Difference(msgspec.Struct, frozen=True):
    """What a patch without a contract does to the calls in the files it touches.

    `mended` fail without it and not with it, `harmed` the other way round; `remaining` fail either way;
    `changed` are the calls that read differently with it.
    """

    without: Seen
    mended: tuple[CallCheck, ...]
    harmed: tuple[CallCheck, ...]
    changed: tuple[CallCheck, ...]
    remaining: int = 0
    unread: tuple[str, ...] = ()


def stated(
    tree: Tree, contracts: Sequence[Contract], libraries: Mapping[str, str] | None, *, everywhere: bool
) -> Seen:
    """The calls that the contracts name.

    Args:
        tree: where to look.
        contracts: what the patch states.
        libraries: where to take signatures from instead, by library.
        everywhere: where none is left in a contract's own file, look at the whole tree.
    """
    return _seen([r for contract in contracts for r in _of_contract(tree, contract, libraries, everywhere)])


def _of_contract(
    tree: Tree, contract: Contract, libraries: Mapping[str, str] | None, everywhere: bool
) -> list[Report]:
    # Most of the start-up time, and a remembered verdict needs none of it.
    from pinproof.contract.check import check_tree

    found = [check_tree(tree, callee=name, files=[contract.file], libraries=libraries)
             for name in contract.callees]  # fmt: skip
    if not everywhere or any(report.calls or report.unchecked for report in found):
        return found
    return [check_tree(tree, callee=name, libraries=libraries) for name in contract.callees]


def difference(without: Tree, with_it: Tree, patch: Patch, libraries: Mapping[str, str] | None) -> Difference:
    """What the patch does to the calls in the Python files it touches."""
    before, after = (_touched(tree, patch, libraries) for tree in (without, with_it))
    mended = tuple(_minus(before.calls, after.calls, _failure))
    harmed = tuple(_minus(after.calls, before.calls, _failure))
    unread = tuple(f"{item.file}: {item.reason}" for report in (before, after) for item in report.unread)
    return Difference(
        without=_seen([before]), mended=mended, harmed=harmed,
        changed=tuple(_minus(after.calls, before.calls, _content)), unread=unread,
        remaining=len(before.failing) - len(mended),
    )  # fmt: skip


def _touched(tree: Tree, patch: Patch, libraries: Mapping[str, str] | None) -> Report:
    from pinproof.contract.check import check_tree

    files = [path for path in patch.paths() if path.endswith(".py") and tree.read(path) is not None]
    return check_tree(tree, files=files, libraries=libraries)


def _minus(these: Iterable[CallCheck], those: Iterable[CallCheck], key: object) -> Iterator[CallCheck]:
    """The calls among `these` that have no counterpart among `those`."""
    assert callable(key)
    left = Counter(key(call) for call in those if key(call) is not None)
    for call in these:
        mine = key(call)
        if mine is None:
            continue
        if left[mine]:
            left[mine] -= 1
        else:
            yield call


def _failure(call: CallCheck) -> object:
    """What tells one failing call from another, wherever its line is; None for one that does not fail."""
    if not call.failing:
        return None
    return call.file, call.callee, tuple((drift.kind, drift.names) for drift in call.drifts)


def _content(call: CallCheck) -> object:
    return call.file, call.callee, call.keywords, call.open, call.drifts


def _seen(reports: Sequence[Report]) -> Seen:
    used = [library for report in reports for library in report.libraries]
    calls = {(c.file, c.line, c.col, c.callee): c for report in reports for c in report.calls}
    return Seen(
        calls=tuple(calls.values()),
        unchecked=tuple({u.library: u for report in reports for u in report.unchecked}.values()),
        labels={u.library: u.label for u in used},
        sources={u.library: u.source.replace(" (", ", ").replace(")", "") for u in used},
        notes=tuple(dict.fromkeys(u.note for u in used if u.note)),
    )
