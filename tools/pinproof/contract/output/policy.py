"""From a report to an outcome: what fails, what was accepted, what was not looked at, the exit code."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import msgspec

from pinproof.contract.model import Report
from pinproof.contract.output.findings import Finding, pin_findings
from pinproof.contract.watch.settings import Settings
from pinproof.errors import Exit


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of the contract gate comes to.

    Attributes:
        shown: the findings to act on, new ones only where a baseline is given.
        accepted: those that a person let pass, with the reason.
        known: how many are in the baseline.
        unproved: what was not looked at although it may matter, one line each.
        notes: entries of the settings that have expired or that nothing needs.
    """

    shown: tuple[Finding, ...]
    accepted: tuple[tuple[Finding, str], ...] = ()
    known: int = 0
    unproved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit(self) -> Exit:
        """1 a call fails; 5 none does, but something that may matter was not looked at; else 0."""
        if any(finding.fails for finding in self.shown):
            return Exit.FAILED
        return Exit.SKIPPED if self.unproved or any(f.guard is None for f in self.shown) else Exit.OK


def outcome(
    report: Report, found: Sequence[Finding], settings: Settings, *,
    baseline: Collection[str] = (), today: datetime.date, whole: bool = True,
) -> Outcome:  # fmt: skip
    """Hold a report against the settings of its tree.

    Args:
        report: what the run found.
        found: its findings, as far as they are to be shown.
        settings: what the tree's owner lets pass.
        baseline: ids of findings that are known.
        today: an accepted finding counts again from its day on.
        whole: whether the whole tree was looked at: only then an entry without a finding is unused.
    """
    every = [*found, *pin_findings(report)]
    entries = {entry.finding: entry for entry in settings.accepted}
    live = {i: e for i, e in entries.items() if today < e.until}
    accepted = tuple((f, live[f.id].reason) for f in every if f.id in live)
    left = [f for f in every if f.id not in live]
    shown = tuple(f for f in left if f.id not in baseline)
    return Outcome(
        shown=shown, accepted=accepted, known=len(left) - len(shown),
        unproved=tuple(_unproved(report, settings, whole=whole)),
        notes=tuple(_notes(report, settings, {f.id for f in every}, today, whole=whole)),
    )  # fmt: skip


def _unproved(report: Report, settings: Settings, *, whole: bool) -> Iterator[str]:
    left_out = {entry.library for entry in settings.unchecked}
    uses = Counter(call.library for call in report.calls)
    for item in report.unchecked:
        if item.pinned and item.library not in left_out:
            used = f" ({uses[item.library]} uses)" if uses[item.library] else ""
            yield f"cannot check {item.library}{used}: {item.reason}\n  -> {item.hint}"
    for reason, files in _by_reason(report).items():
        more = f" and {len(files) - 1} more files" if len(files) > 1 else ""
        yield f"not read: {files[0]}{more}: {reason}"
    asked = [call for call in report.calls if call.library not in left_out]
    if asked and not report.bound:
        yield f"nothing was checked: none of {len(asked)} uses of watched libraries was bound"
    if not report.files_seen:
        yield f"nothing was read: {report.tree} holds no Python file"


def _by_reason(report: Report) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in report.unread:
        found.setdefault(item.reason, []).append(item.file)
    return found


def _notes(
    report: Report, settings: Settings, ids: Collection[str], today: datetime.date, *, whole: bool
) -> Iterator[str]:
    for entry in settings.accepted:
        if today >= entry.until and entry.finding in ids:
            yield f"accepted finding {entry.finding} has expired on {entry.until}: {entry.reason}"
        elif whole and entry.finding not in ids:
            yield f"accepted finding {entry.finding} is not among the findings: take it out"
    missing = {item.library for item in report.unchecked}
    for left in settings.unchecked:
        if whole and left.library not in missing:
            yield f"{left.library} is left unchecked, but its signatures are available: take it out"
