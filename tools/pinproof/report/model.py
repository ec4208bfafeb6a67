"""The facts of a report: everything a page shows, and what `data/report.json` holds."""

from __future__ import annotations

from typing import Literal

import msgspec

from pinproof.history.model import History


class LibraryFact(msgspec.Struct, frozen=True, kw_only=True):
    """A library that a release calls: the version its signatures were read from, and who says so."""

    name: str
    version: str
    source: str
    pin: str | None = None


class FindingFact(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one release that does not fit: see pinproof.contract for the kinds."""

    id: str
    code: str
    kind: str
    file: str
    line: int
    callee: str
    library: str
    message: str
    declared: str | None
    guard: str | None
    confidence: str


class ReleaseFact(msgspec.Struct, frozen=True, kw_only=True):
    """The contract gate's run on one release.

    `uploaded` is the day it came out (ISO 8601), None when the index does not say. `probes` counts the places
    where the release's own code asks at run time what a library offers. `unchecked` maps a pinned library
    whose signatures were not available to the reason.
    """

    release: str
    uploaded: str | None = None
    files: int
    uses: int
    bound: int
    open: int
    failing: int
    guarded: int
    probes: int
    libraries: tuple[LibraryFact, ...]
    findings: tuple[FindingFact, ...]
    unchecked: dict[str, str]
    command: str

    @property
    def version(self) -> str:
        """`0.28.0` of `vllm==0.28.0`."""
        return self.release.partition("==")[2]


class VerdictFact(msgspec.Struct, frozen=True, kw_only=True):
    """A patch on a release: the verdict, why, where the deciding signature was read, how to see it again."""

    release: str
    without: str | None = None
    verdict: str
    sentence: str
    source: str | None
    command: str


class GateFact(msgspec.Struct, frozen=True, kw_only=True):
    """A gate's record beside a patch; `when` is ISO 8601, None when there is no record.

    `outcome` is the record's own, "edited" when the patch has changed since, "refused" when it does not hold.
    """

    gate: str
    outcome: str
    summary: str
    when: str | None = None


class PatchFact(msgspec.Struct, frozen=True, kw_only=True):
    """A patch of the series."""

    name: str
    number: str
    title: str
    origin: str | None
    upstream_status: str
    callees: tuple[str, ...]
    verdicts: tuple[VerdictFact, ...]
    gates: tuple[GateFact, ...]


class TrackedFact(msgspec.Struct, frozen=True, kw_only=True):
    """A finding over the releases: `releases` are those that have it, oldest first, with the line in each."""

    finding: FindingFact
    releases: tuple[str, ...]
    lines: tuple[int, ...]
    fixed_in: str | None
    upstream: str | None = None


class BumpFact(msgspec.Struct, frozen=True, kw_only=True):
    """How a library's public signatures differ between two versions that were pinned one after the other."""

    library: str
    before: str
    after: str
    release: str
    changed: int
    added: int
    removed: int
    kept: int
    examples: tuple[str, ...] = ()


class MoveFact(msgspec.Struct, frozen=True, kw_only=True):
    """What would break in the newest release if a pin moved to the library's newest release."""

    release: str
    library: str
    project: str
    pinned: str
    newest: str
    breaks: tuple[FindingFact, ...]
    problem: str | None = None
    command: str


class PluginCell(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin with one release of its engine: seams broken beyond its pin's, and those to read again."""

    release: str
    broken: int
    review: int
    looked_at: int
    examples: tuple[str, ...]
    command: str


class PluginFact(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin's release, the engine's release that it pins, and a cell for each release that was read."""

    plugin: str
    engine: str
    cells: tuple[PluginCell, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything; `made` is when (ISO 8601, UTC), `missing` what could not be read, each with its reason."""

    schema: Literal["pinproof.report/1"] = "pinproof.report/1"
    made: str
    pinproof: str
    project: str
    releases: tuple[ReleaseFact, ...]
    patches: tuple[PatchFact, ...]
    findings: tuple[TrackedFact, ...]
    bumps: tuple[BumpFact, ...]
    moves: tuple[MoveFact, ...]
    histories: tuple[History, ...]
    plugins: tuple[PluginFact, ...] = ()
    missing: dict[str, str] = {}
