"""What is found at the seams between a plugin and its engine."""

from __future__ import annotations

from typing import Literal

import msgspec

Level = Literal["error", "review", "note"]

CODES: dict[str, str] = {
    "KC301": "override takes no keyword that callers pass",
    "KC302": "override requires what callers leave out",
    "KC303": "override takes fewer positional arguments than callers pass",
    "KC304": "overridden method is gone",
    "KC305": "abstract method is not implemented",
    "KC306": "super() call does not fit the engine's method",
    "KC401": "patch target is gone",
    "KC402": "replacement does not take what callers pass",
    "KC403": "replaced code has changed",
    "KC404": "what the patch does is already in",
    "KC405": "two patches on one target",
    "KC406": "text anchor is gone",
}


class Seam(msgspec.Struct, frozen=True, kw_only=True):
    """One finding at a seam.

    Attributes:
        code: see CODES.
        level: error: it breaks or does nothing; review: a person has to read it again; note: to know.
        file, line: where it stands in the plugin.
        name: what of the engine it is about, by its canonical name.
        message: what is wrong, for people.
        evidence: lines of the engine that show it, `file:line: text`.
        before, after: what the engine declares at the pin and at the other version.
        guard: the test that keeps it from running on the version it is about; None when nothing does.
        diff: for changed code, what went out and came in.
    """

    code: str
    level: Level
    file: str
    line: int
    name: str
    message: str
    evidence: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    guard: str | None = None
    diff: tuple[str, ...] = ()


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at: a result is tied to it."""

    classes: int = 0
    overrides: int = 0
    patches: int = 0
    targets: int = 0
    anchors: int = 0
    files: int = 0


class Seams(msgspec.Struct, frozen=True, kw_only=True):
    """Everything found at the seams of one plugin.

    Attributes:
        plugin: how it was named.
        engine: the engine and the version it was held against.
        counts: what was looked at.
        found: the findings, by file and line.
    """

    plugin: str
    engine: str
    counts: Counts
    found: tuple[Seam, ...]

    @property
    def failing(self) -> list[Seam]:
        """The findings that break something and that nothing guards."""
        return [seam for seam in self.found if seam.level == "error" and seam.guard is None]
