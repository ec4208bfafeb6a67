"""Follow each finding over the releases: where it was first seen, where last, and what fixed it."""

from __future__ import annotations

from collections.abc import Sequence

from pinproof.report.model import FindingFact, PatchFact, ReleaseFact, TrackedFact


def track(releases: Sequence[ReleaseFact], patches: Sequence[PatchFact]) -> tuple[TrackedFact, ...]:
    """One fact for each finding, by its id, which stays the same when lines move.

    Args:
        releases: oldest first.
        patches: the series; a finding about a callee of a patch links to where the patch comes from.

    Returns:
        Findings that fail before guarded ones, the most recent first.
    """
    seen: dict[str, list[tuple[int, FindingFact]]] = {}
    for index, release in enumerate(releases):
        for finding in release.findings:
            seen.setdefault(finding.id, []).append((index, finding))
    upstream = {callee: patch.origin for patch in patches for callee in patch.callees}
    found = [_tracked(releases, hits, upstream) for hits in seen.values()]
    order = {release.release: index for index, release in enumerate(releases)}
    return tuple(sorted(found, key=lambda t: (
        t.finding.guard is not None, -order[t.releases[-1]], t.finding.file, t.finding.line,
    )))  # fmt: skip


def _tracked(
    releases: Sequence[ReleaseFact], hits: Sequence[tuple[int, FindingFact]], upstream: dict[str, str | None]
) -> TrackedFact:
    lines = {index: finding.line for index, finding in hits}
    last = max(lines)
    finding = hits[-1][1]
    return TrackedFact(
        finding=finding, releases=tuple(releases[index].release for index in lines),
        lines=tuple(lines.values()), upstream=upstream.get(finding.callee),
        fixed_in=releases[last + 1].release if last + 1 < len(releases) else None,
    )  # fmt: skip
