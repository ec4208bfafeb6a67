"""Look at every seam of a plugin: its overrides, its runtime patches, its text anchors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from pinproof.contract.syntax.parse import without_gc
from pinproof.progress import progress
from pinproof.seams import anchors as texts
from pinproof.seams import overriding, patching
from pinproof.seams.callers import Callers
from pinproof.seams.code import Code, Found, World
from pinproof.seams.model import Counts, Seam, Seams
from pinproof.seams.overrides import classes, overrides
from pinproof.seams.targets import Placed, patches
from pinproof.seams.versions import Versions


class Side:
    """A plugin with one version of its engine.

    Args:
        plugin: the plugin's code.
        engine: the engine's.
        version: its version, for tests of the plugin that ask for it.
    """

    def __init__(self, plugin: Code, engine: Code, version: str) -> None:
        self.world = World(plugin, engine)
        self.callers = Callers(self.world)
        self.versions = Versions(self.world, version)

    @cached_property
    def placed(self) -> list[Placed]:
        """The plugin's patches, as this version shows them."""
        return patches(self.world)

    @cached_property
    def classes(self) -> list[tuple[Found, list[Found]]]:
        """The plugin's classes that have bases in the engine, each with its lineage."""
        return list(classes(self.world))


def examine(pin: Side, other: Side | None = None) -> Seams:
    """Judge every seam of a plugin.

    Args:
        pin: with the engine it pins.
        other: with another version: then what breaks there and does not at the pin, and what has changed
            under the plugin's patches, is what is found.

    Returns:
        The findings and what was looked at.
    """
    with without_gc(), progress("looking at seams", None):
        found, counts = _at(pin)
        if other is not None:
            known = {_key(seam) for seam in found}
            later, counts = _at(other)
            found = [seam for seam in later if _key(seam) not in known]
            found += _between(pin, other)
        label = (other or pin).world.engine.label
    ordered = sorted(found, key=lambda seam: (seam.file, seam.line, seam.code, seam.name))
    return Seams(plugin=pin.world.plugin.label, engine=label, counts=counts, found=tuple(ordered))


def _key(seam: Seam) -> tuple[str, str, int, str]:
    return seam.code, seam.file, seam.line, seam.name


def _at(side: Side) -> tuple[list[Seam], Counts]:
    """What is wrong on one version, and what was looked at."""
    world = side.world
    found: list[Seam] = []
    seen = hidden = 0
    for cls, lineage in side.classes:
        seen += 1
        hidden += sum(1 for _ in overrides(world, cls, lineage))
        found += overriding.judge(world, side.callers, cls, lineage)
    placed = side.placed
    for item in placed:
        found += patching.judge(world, side.callers, side.versions, item)
    found += patching.doubled(placed, side.versions)
    written = texts.anchors(world)
    found += [seam for anchor in written for seam in [texts.judge(world, anchor)] if seam is not None]
    counts = Counts(
        classes=seen, overrides=hidden, patches=len(placed), targets=len({p.patch.target for p in placed}),
        anchors=len(written), files=len(list(world.plugin.names())),
    )  # fmt: skip
    return found, counts


def _between(pin: Side, other: Side) -> Iterator[Seam]:
    """What the step from one version to the other takes away from under the plugin, or changes."""
    for cls, lineage in pin.classes:
        for override in overrides(pin.world, cls, lineage):
            seam = overriding.gone(pin.world, other.world, other.callers, override, cls)
            if seam is not None:
                yield seam
    for item in _both(pin, other):
        yield from patching.moved(pin.world, other.world, other.versions, item)


def _both(pin: Side, other: Side) -> list[Placed]:
    """The patches that either version shows: where a target is gone, its owner may be found in one only."""
    found = {(p.patch.file, p.patch.line, p.patch.target): p for p in other.placed}
    found |= {(p.patch.file, p.patch.line, p.patch.target): p for p in pin.placed}
    return [found[key] for key in sorted(found)]
