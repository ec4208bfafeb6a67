"""What the new releases break: verdicts of the series and calls that no longer fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pinproof.console import note
from pinproof.contract.check import check_tree
from pinproof.contract.model import CallCheck, Report
from pinproof.contract.watch.watchlist import shipped
from pinproof.drift.news import NewLibrary, News
from pinproof.drift.state import State
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.verdict import judge
from pinproof.pins import deciding, read_pins
from pinproof.releases import release_tree
from pinproof.tree import Tree

_CALM = ("applied", "obsolete", "absent")


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """One call that breaks: where it stands, what it calls, and how it no longer fits."""

    place: str
    callee: str
    drift: str


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A patch's verdict on a new release."""

    patch: str
    verdict: str
    sentence: str


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """An exact pin that differs between two engine releases; None where one of them has none."""

    library: str
    before: str | None
    after: str | None


class NewRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A new release of the engine and what was found on it; `unchecked` are libraries nobody could read."""

    release: str
    verdicts: list[Judged]
    moved: list[Moved]
    broken: list[Broken]
    unchecked: dict[str, str]
    command: str


class Bumped(msgspec.Struct, frozen=True, kw_only=True):
    """What breaks in the engine's newest release when this pin moves to the library's newest release."""

    engine: str
    library: NewLibrary
    broken: list[Broken]
    unchecked: dict[str, str]
    command: str


class Findings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One look, ready to be reported; `state` is what to remember once it is."""

    schema: Literal["pinproof.drift/1"] = "pinproof.drift/1"
    state: State
    releases: list[NewRelease]
    libraries: list[Bumped]
    unread: list[str]
    unseen: dict[str, str]

    @property
    def changed(self) -> bool:
        """Whether anything came out since the last look."""
        return bool(self.releases or self.libraries)

    @property
    def alarming(self) -> bool:
        """Whether a person should look: a call breaks, a patch is needed or cannot be judged."""
        verdicts = {judged.verdict for release in self.releases for judged in release.verdicts}
        return bool(verdicts - set(_CALM)) or any(item.broken or item.unchecked for item in self.checked)

    @property
    def checked(self) -> list[NewRelease | Bumped]:
        """Everything the contract gate was run on."""
        return [*self.releases, *self.libraries]


def examine(news: News, before: State, patches: Sequence[Patch]) -> Findings:
    """Run the verdicts and the contract gate on everything that is new.

    Args:
        news: what is new.
        before: the state of the last look, for the pins that moved since.
        patches: the series.

    Raises:
        CannotCheck: the package index cannot be reached.
    """
    found: list[NewRelease] = []
    previous = before.version
    newest: Report | None = None
    for version in news.engine:
        note(f"{before.engine} {version}: verdicts and contract")
        tree = release_tree(before.engine, version)
        newest = check_tree(tree, cached=True)
        found.append(_release(release_tree(before.engine, previous), tree, newest, patches))
        previous = version
    bumped = []
    tree = release_tree(before.engine, news.state.version)
    for library in news.libraries:
        note(f"{library.project} {library.version}: what breaks if the pin moves there")
        newest = newest or check_tree(tree, cached=True)
        bumped.append(_bump(tree, newest, library))
    return Findings(
        state=news.state, releases=found, libraries=bumped, unread=list(news.unread), unseen=news.unseen
    )


def _release(previous: Tree, tree: Tree, report: Report, patches: Sequence[Patch]) -> NewRelease:
    verdicts = [judge(patch, tree) for patch in patches]
    return NewRelease(
        release=tree.name,
        verdicts=[Judged(patch=v.patch, verdict=v.verdict, sentence=v.sentence) for v in verdicts],
        moved=_moved(previous, tree),
        broken=[_broken(call) for call in report.failing], unchecked=_unchecked(report),
        command=f"pinproof contract --release {tree.name}",
    )  # fmt: skip


def _bump(tree: Tree, now: Report, library: NewLibrary) -> Bumped:
    """Only what the move breaks: what is broken with the pin as it stands (`now`) is left out."""
    watched = next(item for item in shipped() if item.name == library.library)
    then = check_tree(tree, watched=(watched,), libraries={watched.name: library.version}, cached=True)
    today = {(call.file, call.line, call.col, call.callee) for call in now.failing}
    new = [call for call in then.failing if (call.file, call.line, call.col, call.callee) not in today]
    return Bumped(
        engine=tree.name, library=library, broken=[_broken(call) for call in new], unchecked=_unchecked(then),
        command=f"pinproof contract --release {tree.name} --with {library.project}=={library.version}",
    )  # fmt: skip


def _moved(old: Tree, new: Tree) -> list[Moved]:
    before, after = (
        {name: pin.spec for name, pin in deciding(read_pins(tree)).items() if pin.exact}
        for tree in (old, new)
    )
    return [
        Moved(library=name, before=before.get(name), after=after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _broken(call: CallCheck) -> Broken:
    drifts = "; ".join(f"{drift.kind} {', '.join(drift.names)}" for drift in call.drifts)
    return Broken(place=f"{call.file}:{call.line}", callee=call.callee, drift=drifts)


def _unchecked(report: Report) -> dict[str, str]:
    """Pinned libraries that could not be read; one that the tree does not even pin is not news."""
    return {item.library: item.reason for item in report.unchecked if item.pinned}
