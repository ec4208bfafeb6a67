"""Put a report together: every release, the series, findings followed over time, how fast contracts move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

import msgspec

from pinproof import __version__
from pinproof.console import note
from pinproof.errors import CannotCheck, PinproofError
from pinproof.history.collect import history, wanted
from pinproof.history.model import History
from pinproof.patchset.patchfile import Patch
from pinproof.progress import progress
from pinproof.releases import distributions
from pinproof.report.facts import release_fact
from pinproof.report.model import PatchFact, ReleaseFact, Report, TrackedFact
from pinproof.report.moves import moves
from pinproof.report.pace import bumps
from pinproof.report.patches import patch_fact
from pinproof.report.plugins import plugin_fact
from pinproof.report.tracks import track
from pinproof.submit.store import Store

# A page of its own for each: those of the series, then those of the newest findings.
_MOST_HISTORIES = 6


def gather(
    project: str, versions: Sequence[str], patches: Sequence[Patch], store: Store, now: datetime,
    plugins: Sequence[str] = (),
) -> Report:  # fmt: skip
    """Everything a report shows.

    Args:
        project: the engine on the package index, e.g. `vllm`.
        versions: its releases, oldest first.
        patches: the series.
        store: the records beside the patches.
        now: the time, timezone-aware.
        plugins: projects built on the engine, `NAME` (its newest release) or `NAME==V`.

    Raises:
        CannotCheck: not one of the releases can be read.
    """
    missing: dict[str, str] = {}
    releases = _releases(project, versions, missing)
    series = tuple(patch_fact(patch, project, versions, store, now) for patch in patches)
    findings = track(releases, series)
    note("comparing the libraries' versions")
    found_bumps, found_moves = tuple(bumps(releases, missing)), tuple(moves(releases[-1]))
    note("following contracts over the releases")
    histories = tuple(_histories(project, versions, patches, _callees(series, findings), missing))
    read = (plugin_fact(text, project, versions, missing) for text in plugins)
    found_plugins = tuple(plugin for plugin in read if plugin is not None)
    return Report(
        made=now.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), pinproof=__version__,
        project=project, releases=releases, patches=series, findings=findings, bumps=found_bumps,
        moves=found_moves, histories=histories, plugins=found_plugins, missing=missing,
    )  # fmt: skip


def _releases(project: str, versions: Sequence[str], missing: dict[str, str]) -> tuple[ReleaseFact, ...]:
    days = _days(project)
    found: list[ReleaseFact] = []
    with progress("contract gate", len(versions), unit="releases") as bar:
        for version in versions:
            bar.describe(f"contract gate: {project} {version}")
            try:
                fact = release_fact(project, version)
                found.append(msgspec.structs.replace(fact, uploaded=days.get(version)))
            except PinproofError as error:
                missing[f"{project}=={version}"] = error.message
            bar.advance()
    if not found:
        raise CannotCheck(f"none of the {len(versions)} releases can be read: {next(iter(missing.values()))}")
    return tuple(found)


def _days(project: str) -> dict[str, str]:
    """The day each release came out; none where the index is out of reach or does not say."""
    try:
        files = distributions(project)
    except CannotCheck:
        return {}
    found: dict[str, str] = {}
    for file in files:
        if file.version and file.upload_time:
            day = file.upload_time.date().isoformat()
            found[file.version] = min(day, found.get(file.version, day))
    return found


def _callees(series: Sequence[PatchFact], findings: Sequence[TrackedFact]) -> list[str]:
    of_patches = [callee for patch in series for callee in patch.callees]
    signatures = ("unexpected-keyword", "missing-required", "too-many-positional")
    of_findings = [t.finding.callee for t in findings if t.finding.kind in signatures]
    return list(dict.fromkeys((*of_patches, *of_findings)))[:_MOST_HISTORIES]


def _histories(
    project: str, versions: Sequence[str], patches: Sequence[Patch], callees: Sequence[str],
    missing: dict[str, str],
) -> Iterator[History]:  # fmt: skip
    for callee in callees:
        try:
            found = history(callee, wanted(project, versions, patches, callee))
        except PinproofError as error:
            missing[callee] = error.message
            continue
        if found.rows:
            yield found
