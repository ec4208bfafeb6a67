"""Show a report: to people, to GitHub's log, to machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from pinproof.console import clean, say, say_text
from pinproof.contract.model import CallCheck, Report
from pinproof.contract.output.findings import Finding, numbered, pin_findings, spelled
from pinproof.contract.output.policy import Outcome

_MOST_REASONS = 5


def people(report: Report, outcome: Outcome) -> None:
    """Print the findings and what was looked at."""
    for finding in outcome.shown:
        say_text(f"{finding.file}:{finding.line}:{finding.col}: {finding.code} {finding.message}")
        for line in _details(finding):
            say_text(line, "    ")
    if outcome.shown:
        say()
    for line in summary(report, outcome):
        say_text(line.lstrip(), line[: len(line) - len(line.lstrip())])


def _details(finding: Finding) -> Iterator[str]:
    near = f"; nearest: {', '.join(finding.nearest)}" if finding.nearest else ""
    yield f"declared in {finding.declared}{near}" if finding.declared else f"{finding.how}{near}"
    if finding.declared and finding.how:
        yield f"reached by {finding.how}"
    if finding.guard:
        yield f"guarded by {finding.guard}"
    yield f"run again with --explain {finding.id} for details"


def summary(report: Report, outcome: Outcome) -> Iterator[str]:
    """What was seen, bound and left open, and why: an empty result never means "could not look"."""
    yield (
        f"{report.tree}: {report.files_seen} files, {len(report.calls)} uses of watched libraries; "
        f"{len(report.bound)} bound, {len(report.open)} open"
    )
    for library in report.libraries:
        note = f" ({library.note})" if library.note else ""
        yield f"  {library.label}: {library.source}{note}"
    yield from _open(report)
    for finding, reason in outcome.accepted:
        yield f"accepted: {finding.id} {finding.code} {finding.file}:{finding.line}: {reason}"
    yield from outcome.notes
    yield from outcome.unproved
    failing = sum(1 for finding in outcome.shown if finding.fails)
    guarded = len(report.guarded)
    shown = any(finding.guard for finding in outcome.shown)
    hidden = f", {guarded} behind a guard (--include-guarded)" if guarded and not shown else ""
    known = f", {outcome.known} known from the baseline" if outcome.known else ""
    let = f", {len(outcome.accepted)} accepted" if outcome.accepted else ""
    yield f"{failing} failing call{'' if failing == 1 else 's'}{hidden}{known}{let}"


def _open(report: Report) -> Iterator[str]:
    """The commonest reasons why calls were not decided; libraries without any pin in one line."""
    unpinned = {item.library for item in report.unchecked if not item.pinned}
    uses = Counter(call.library for call in report.open if call.library in unpinned)
    if uses:
        names = ", ".join(f"{name} ({count})" for name, count in uses.most_common())
        yield f"  not pinned by this tree, so there is nothing to hold uses against: {names}"
    decided = [call for call in report.open if call.library not in unpinned]
    reasons = Counter((call.library, call.open or "") for call in decided)
    for (name, reason), count in reasons.most_common(_MOST_REASONS):
        yield f"  open: {count} of {name}: {reason}"
    rest = len(decided) - sum(n for _, n in reasons.most_common(_MOST_REASONS))
    if rest:
        yield f"  open: {rest} more (--json lists each)"


def explained(report: Report, wanted: str) -> dict[str, Any] | None:
    """All there is to say about the findings whose id begins as `wanted`; None when there is no such.

    Returns:
        The finding, the call's signature as Python writes it, and the pin that decided.
    """
    for call, finding in numbered(report.calls):
        if finding.id == wanted:
            return _explained(report, finding, call)
    for finding in pin_findings(report):
        if finding.id == wanted:
            return _explained(report, finding, None)
    return None


def _explained(report: Report, finding: Finding, call: CallCheck | None) -> dict[str, Any]:
    pins = (u.pin for u in report.libraries if call is not None and u.library == call.library)
    signature = call.signature if call is not None else None
    return {
        "finding": msgspec.to_builtins(finding),
        "signature": spelled(signature) if signature is not None else None,
        "keywords": list(call.keywords) if call is not None else [],
        "drifts": msgspec.to_builtins(call.drifts) if call is not None else [],
        "pin": msgspec.to_builtins(next(pins, None)),
        "explain": f"pinproof explain {finding.code}",
        "witness": f"the same command with --witness {finding.id}" if signature is not None else None,
    }


def explain(told: dict[str, Any]) -> None:
    """Print what `explained` gives."""
    finding, pin = told["finding"], told["pin"]
    say_text(f"{finding['file']}:{finding['line']}:{finding['col']}: {finding['code']} {finding['kind']}")
    say_text(f"{finding['message']}", "  ")
    guard = f"; guarded by {finding['guard']}" if finding["guard"] else ""
    say_text(f"fails: {finding['confidence']}{guard}", "  ")
    say_text(f"reached by: {finding['how'] or 'its own name'}", "  ")
    if told["signature"]:
        say_text(f"declared in {finding['declared']}:", "  ")
        say_text(f"  {told['signature']}", "  ")
    if finding["nearest"]:
        say_text(f"nearest declared names: {', '.join(finding['nearest'])}", "  ")
    if pin:
        say_text(f"pinned to {pin['spec']} by {pin['file']}:{pin['line']}", "  ")
    if told["witness"]:
        say_text(f"a program that dies as the call will: {told['witness']}", "  ")
    say_text(f"what to do: {told['explain']}", "  ")


def github(outcome: Outcome) -> Iterator[str]:
    """Workflow commands, which GitHub shows as annotations on the lines (escaped as it asks)."""
    for finding in outcome.shown:
        level = "error" if finding.fails else "warning"
        place = f"file={_property(finding.file)},line={finding.line},col={finding.col}"
        title = _property(f"{finding.code} {finding.kind}")
        near = f" (nearest: {', '.join(finding.nearest)})" if finding.nearest else ""
        text = f"{finding.message}{near}; declared in {finding.declared or finding.library}"
        yield f"::{level} {place},title={title}::{_data(text)}"
    for line in (*outcome.unproved, *outcome.notes):
        yield f"::warning title=not proved::{_data(line)}"


def _data(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def machine(report: Report, outcome: Outcome) -> dict[str, Any]:
    """The report as JSON-able data (schema pinproof.contract/1)."""
    return {
        "tree": report.tree,
        "exit": int(outcome.exit),
        "findings": msgspec.to_builtins(outcome.shown),
        "accepted": [{"id": f.id, "code": f.code, "reason": reason} for f, reason in outcome.accepted],
        "baseline": outcome.known,
        "unproved": list(outcome.unproved),
        "notes": list(outcome.notes),
        "libraries": msgspec.to_builtins(report.libraries),
        "unchecked": msgspec.to_builtins(report.unchecked),
        "unread": msgspec.to_builtins(report.unread),
        "disagreements": msgspec.to_builtins(report.torn),
        "coverage": {
            "files": report.files_seen,
            "uses": len(report.calls),
            "bound": len(report.bound),
            "open": len(report.open),
            "failing": len(report.failing),
            "guarded": len(report.guarded),
        },
        "open": [{"file": c.file, "line": c.line, "callee": c.callee, "reason": c.open} for c in report.open],
    }
