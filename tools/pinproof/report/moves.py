"""Look ahead: what would break in the newest release if a pin moved to the library's newest release."""

from __future__ import annotations

from collections.abc import Iterator

from pinproof import stamp
from pinproof.contract.check import check_tree
from pinproof.contract.output.findings import findings
from pinproof.contract.watch.watchlist import Watched
from pinproof.drift.news import pinned_releases
from pinproof.errors import PinproofError
from pinproof.pins import Pin
from pinproof.releases import release_tree, versions
from pinproof.remember import keep, place, recall
from pinproof.report.facts import finding_facts
from pinproof.report.model import MoveFact, ReleaseFact
from pinproof.tree import Tree

_FORMAT = "moves/1"  # raise it when a fact says something else


def moves(release: ReleaseFact) -> Iterator[MoveFact]:
    """One fact for each library that the release pins exactly and that has come out anew since."""
    project, _, version = release.release.partition("==")
    tree = release_tree(project, version)
    now = {(one.file, one.line, one.callee) for one in release.findings}
    for watched, pin in pinned_releases(tree):
        try:
            newest = versions(pin.library)[-1:]
        except PinproofError as error:
            yield _fact(tree, watched, pin, "", problem=error.message)
            continue
        if pin.exact and newest and newest[0] != pin.spec:
            yield _tried(tree, watched, pin, newest[0], now)


def _tried(tree: Tree, watched: Watched, pin: Pin, newest: str, now: set[tuple[str, int, str]]) -> MoveFact:
    wheel = str(getattr(tree.files, "sha256", ""))
    path = place("report", _FORMAT, stamp.content("contract"), tree.name, wheel, pin.library, newest)
    known = recall(path, MoveFact, fresh=lambda _: None)
    if known is not None:
        return known
    then = check_tree(tree, watched=(watched,), libraries={watched.name: newest}, cached=True)
    if then.unchecked:
        return _fact(tree, watched, pin, newest, problem=then.unchecked[0].reason)
    broken = tuple(
        one for one in finding_facts(findings(then.calls)) if (one.file, one.line, one.callee) not in now
    )
    found = MoveFact(
        release=tree.name, library=watched.name, project=pin.library, pinned=pin.spec, newest=newest,
        breaks=broken, command=_command(tree, pin, newest),
    )  # fmt: skip
    keep(path, found)
    return found


def _fact(tree: Tree, watched: Watched, pin: Pin, newest: str, *, problem: str) -> MoveFact:
    return MoveFact(
        release=tree.name, library=watched.name, project=pin.library, pinned=pin.spec, newest=newest,
        breaks=(), problem=problem, command=_command(tree, pin, newest),
    )  # fmt: skip


def _command(tree: Tree, pin: Pin, newest: str) -> str:
    return f"pinproof contract --release {tree.name} --with {pin.library}=={newest}"
