"""How fast contracts move: public signatures that changed each time a pinned library's version did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pinproof import stamp
from pinproof.contract.declared.snapshot import Snapshot
from pinproof.contract.sources import fetching
from pinproof.contract.watch.watchlist import Watched, find, shipped
from pinproof.errors import CannotCheck, PinproofError
from pinproof.releases import release_tree
from pinproof.remember import keep, place, recall
from pinproof.report.model import BumpFact, LibraryFact, ReleaseFact
from pinproof.report.signatures import Difference, compare, public

_FORMAT = "pace/1"  # raise it when signatures are compared in another way


def bumps(releases: Sequence[ReleaseFact], missing: dict[str, str]) -> Iterator[BumpFact]:
    """The difference between the versions of each library in neighbouring releases, where there is one.

    Args:
        releases: oldest first.
        missing: where to say what could not be compared.
    """
    for name in sorted({library.name for release in releases for library in release.libraries}):
        watched = find(shipped(), name)
        having = [(release, library) for release in releases for library in _named(release, name)]
        for (old, before), (new, after) in pairwise(having):
            if _same(before, after):
                continue
            try:
                found = _difference(watched, (old, before), (new, after))
            except PinproofError as error:
                missing[f"{name} {before.version} to {after.version}"] = error.message
                continue
            if found.changed or found.added or found.removed:
                yield BumpFact(
                    library=name, before=before.version, after=after.version, release=new.release,
                    changed=found.changed, added=found.added, removed=found.removed, kept=found.kept,
                    examples=found.examples,
                )  # fmt: skip


def _named(release: ReleaseFact, name: str) -> list[LibraryFact]:
    return [library for library in release.libraries if library.name == name]


def _is_vendored(library: LibraryFact) -> bool:
    return library.source.startswith("vendored")


def _same(before: LibraryFact, after: LibraryFact) -> bool:
    """Whether both are one release of the index; a vendored copy may change and keep its version."""
    return before.version == after.version and not (_is_vendored(before) or _is_vendored(after))


def _difference(
    watched: Watched, old: tuple[ReleaseFact, LibraryFact], new: tuple[ReleaseFact, LibraryFact]
) -> Difference:
    ends = (*_name(*old), *_name(*new))
    path = place("report", _FORMAT, stamp.content("contract/declared"), watched.name, *ends)
    known = recall(path, Difference, fresh=lambda _: None)
    if known is None:
        known = compare(public(_snapshot(watched, *old).modules), public(_snapshot(watched, *new).modules))
        keep(path, known)
    return known


def _name(release: ReleaseFact, library: LibraryFact) -> tuple[str, str]:
    return library.version, release.release if _is_vendored(library) else ""


def _snapshot(watched: Watched, release: ReleaseFact, library: LibraryFact) -> Snapshot:
    if not _is_vendored(library):
        return fetching.from_release(watched, watched.distributions, library.version)
    project, _, version = release.release.partition("==")
    found = fetching.vendored_copy(watched, release_tree(project, version))
    if found is None:
        raise CannotCheck(f"{release.release} holds no copy of {watched.name}")
    return found
