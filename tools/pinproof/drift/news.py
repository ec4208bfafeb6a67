"""Which releases are new since the last look: of the engine, and of the libraries its newest release pins."""

from __future__ import annotations

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from pinproof import releases
from pinproof.contract.watch.watchlist import Watched, shipped
from pinproof.drift.state import State
from pinproof.errors import PinproofError
from pinproof.pins import Pin, find_pin, read_pins
from pinproof.tree import Tree

# A look that comes after a long pause takes the newest few; the rest is named, not read.
MOST_RELEASES = 5


class NewLibrary(msgspec.Struct, frozen=True, kw_only=True):
    """A release of a pinned library that was not there at the last look; `pinned` is what the engine asks."""

    library: str
    project: str
    version: str
    pinned: str


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What is new.

    `engine` are the new releases, oldest first, `unread` those of them that are too many to look at.
    `state` is what to remember once this is reported; `unseen` says which project could not be looked up.
    """

    engine: tuple[str, ...]
    unread: tuple[str, ...]
    libraries: tuple[NewLibrary, ...]
    state: State
    unseen: dict[str, str]


def look(state: State) -> News:
    """Compare the package index with what was seen last.

    Raises:
        CannotCheck: the index cannot be reached.
    """
    published = releases.versions(state.engine)
    new = [version for version in published if Version(version) > Version(state.version)]
    newest = new[-1] if new else state.version
    tree = releases.release_tree(state.engine, newest)
    libraries: list[NewLibrary] = []
    seen: dict[str, str] = {}
    unseen: dict[str, str] = {}
    for watched, pin in pinned_releases(tree):
        try:
            latest = releases.versions(pin.library)[-1:]
        except PinproofError as error:
            unseen[pin.library] = error.message
            latest = []
        known = state.libraries.get(pin.library)
        if not latest:
            seen.update({pin.library: known} if known else {})
            continue
        seen[pin.library] = latest[0]
        if latest[0] != known and not _is_pinned(pin, latest[0]):
            libraries.append(
                NewLibrary(library=watched.name, project=pin.library, version=latest[0], pinned=pin.spec)
            )
    return News(
        engine=tuple(new[-MOST_RELEASES:]), unread=tuple(new[:-MOST_RELEASES]), libraries=tuple(libraries),
        state=State(engine=state.engine, version=newest, libraries=seen), unseen=unseen,
    )  # fmt: skip


def pinned_releases(tree: Tree) -> list[tuple[Watched, Pin]]:
    """The watched libraries that a tree takes as releases from the package index, each with its pin.

    A library pinned by commit is not among them: a newer one comes with a new engine release.
    """
    pins = read_pins(tree)
    found: list[tuple[Watched, Pin]] = []
    for watched in shipped():
        projects = {canonicalize_name(name) for name in (watched.name, *watched.distributions)}
        mine = [pin for project in sorted(projects) if (pin := find_pin(pins, project)) is not None]
        by_release = [pin for pin in mine if pin.repo is None]
        if by_release:
            found.append((watched, next((pin for pin in by_release if pin.exact), by_release[0])))
    return found


def _is_pinned(pin: Pin, version: str) -> bool:
    """Whether the pin already asks for this release: then the release is checked as it stands."""
    if pin.exact:
        return Version(pin.spec) == Version(version)
    from packaging.specifiers import SpecifierSet

    return pin.spec == "any" or version in SpecifierSet(pin.spec)
