"""The Atom feed: what broke with a release, and what would break with a library's newest release."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pinproof.report.model import MoveFact, Report, TrackedFact

_MOST = 50


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry; `key` never changes for the same break, `updated` is RFC 3339 (RFC 4287, section 3.3)."""

    key: str
    title: str
    text: str
    page: str
    updated: str


def entries(report: Report) -> list[Entry]:
    """The entries, newest first; what the oldest release had already is not new."""
    days = {release.release: release.uploaded for release in report.releases}
    found = [
        _finding(tracked, days.get(tracked.releases[0]) or report.made[:10])
        for tracked in report.findings
        if tracked.finding.guard is None and tracked.releases[0] != report.releases[0].release
    ]
    found += list(_patches(report, days))
    found += [_move(move, report.made) for move in report.moves if move.breaks]
    return sorted(found, key=lambda entry: (entry.updated, entry.key), reverse=True)[:_MOST]


def _finding(tracked: TrackedFact, day: str) -> Entry:
    one, release = tracked.finding, tracked.releases[0]
    where = f"; declared in {one.declared}" if one.declared else ""
    return Entry(
        key=f"{release}/{one.id}", title=f"{release}: {one.callee} ({one.kind})",
        text=f"{one.file}:{tracked.lines[0]}: {one.message}{where}",
        page=f"findings.html#f-{one.id}", updated=f"{day}T00:00:00Z",
    )  # fmt: skip


def _patches(report: Report, days: dict[str, str | None]) -> Iterator[Entry]:
    for patch in report.patches:
        for item in patch.verdicts:
            if item.verdict == "needed" and item.without is None:
                yield Entry(
                    key=f"{item.release}/patch-{patch.number}",
                    title=f"{item.release}: patch {patch.number} is needed", text=item.sentence,
                    page=f"index.html#patch-{patch.number}",
                    updated=f"{days.get(item.release) or report.made[:10]}T00:00:00Z",
                )  # fmt: skip


def _move(move: MoveFact, made: str) -> Entry:
    calls = "call" if len(move.breaks) == 1 else "calls"
    return Entry(
        key=f"{move.release}/{move.project}/{move.newest}",
        title=f"{move.project} {move.newest} would break {len(move.breaks)} {calls} of {move.release}",
        text="\n".join(f"{one.file}:{one.line}: {one.message}" for one in move.breaks),
        page="index.html#ahead", updated=made,
    )  # fmt: skip
