"""Which of a tree's pins decides for a library, and which of them contradict each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from pinproof.pins.model import Pin

_REACH = {"always": 0, "extra": 1, "elsewhere": 2}


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """Places in one tree that pin the same library so that no one version satisfies them all.

    The first of `pins` is the one that decides.
    """

    library: str
    pins: tuple[Pin, ...]

    def sentence(self) -> str:
        """`A:1 says X but B:2 says Y`."""
        return " but ".join(f"{pin.where} says {pin.spec}" for pin in self.pins)


def find_pin(pins: Sequence[Pin], *names: str) -> Pin | None:
    """The pin that decides for a library, which may be pinned under any of these names.

    What holds for every install comes before what an extra or another platform asks for; what a build
    reads before the metadata that an earlier build wrote (edited sources leave that behind); an exact pin
    before an open range; a requirement before the image that it is run in.
    """
    mine = [pin for name in names for pin in pins if pin.library == name]
    return min(mine, key=_rank, default=None)


def deciding(pins: Iterable[Pin]) -> dict[str, Pin]:
    """The pin that decides, for each name that is pinned."""
    found: dict[str, Pin] = {}
    for pin in pins:
        found[pin.library] = min(found.get(pin.library, pin), pin, key=_rank)
    return found


def _rank(pin: Pin) -> tuple[int, bool, bool, bool]:
    return _REACH[pin.reach], pin.origin == "metadata", not pin.exact, pin.origin == "image"


def disagreements(pins: Iterable[Pin], only: Collection[str] | None = None) -> list[Disagreement]:
    """The libraries whose pins contradict each other, with one pin of each opinion.

    Pins of different extras or platforms are alternatives; those of one are held against each other, and
    an extra's against those that always hold. `only` names the libraries to look at.
    """
    by_library: dict[str, list[Pin]] = {}
    for pin in pins:
        if only is None or pin.library in only:
            by_library.setdefault(pin.library, []).append(pin)
    found = (_torn(library, group) for library, group in sorted(by_library.items()))
    return [split for split in found if split is not None]


def _torn(library: str, pins: Sequence[Pin]) -> Disagreement | None:
    said: dict[object, Pin] = {}  # a thing said a thousand times is compared once
    for pin in pins:
        said.setdefault((pin.bare, pin.spec, pin.exact, pin.repo, pin.reach, pin.when), pin)
    ranked = sorted(said.values(), key=_rank)
    for first in ranked:
        against = [pin for pin in ranked if _together(first, pin) and clash(first, pin)]
        if against:
            opinions = {pin.bare: pin for pin in reversed(against)}
            return Disagreement(library=library, pins=(first, *sorted(opinions.values(), key=_rank)))
    return None


def _together(one: Pin, other: Pin) -> bool:
    """Whether one install has to satisfy both."""
    reaches = {one.reach, other.reach}
    return one.when == other.when or (reaches == {"always", "extra"}) or reaches == {"always"}


def clash(one: Pin, other: Pin) -> bool:
    """Whether no version satisfies both pins, as far as that can be told."""
    if one.exact and other.exact:
        return not _same(one, other)
    exact, open_ = (one, other) if one.exact else (other, one)
    if not exact.exact or exact.repo is not None or open_.spec == "any":
        return False
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return not SpecifierSet(open_.spec).contains(exact.bare, prereleases=True)
    except InvalidSpecifier:
        return False


def _same(one: Pin, other: Pin) -> bool:
    """Whether two exact pins name the same version, or one names the start of the other's commit."""
    a, b = one.bare, other.bare
    return a == b or (min(len(a), len(b)) >= 7 and _is_commit(a, b) and (a.startswith(b) or b.startswith(a)))


def _is_commit(*names: str) -> bool:
    return all(set(name) <= set("0123456789abcdef") for name in names)
