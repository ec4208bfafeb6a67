"""Show a report: to people, to GitHub's log, to machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pinproof.console import clean, say, say_text
from pinproof.contract.model import Report
from pinproof.contract.output.findings import Finding, findings, spelled


def people(report: Report, found: Sequence[Finding]) -> None:
    """Print the findings and what was looked at."""
    for finding in found:
        say_text(f"{finding.file}:{finding.line}:{finding.col}: {finding.code} {finding.message}")
        for line in _details(finding):
            say_text(line, "    ")
    if found:
        say()
    for line in summary(report, len(found)):
        say_text(line.lstrip(), line[: len(line) - len(line.lstrip())])


def _details(finding: Finding) -> Iterator[str]:
    near = f"; nearest: {', '.join(finding.nearest)}" if finding.nearest else ""
    yield f"declared in {finding.declared}{near}" if finding.declared else f"{finding.how}{near}"
    if finding.declared and finding.how:
        yield f"reached by {finding.how}"
    if finding.guard:
        yield f"guarded by {finding.guard}"
    yield f"run again with --explain {finding.id} for details"


def summary(report: Report, shown: int) -> Iterator[str]:
    """What was seen, bound and left open, and why: an empty result never means "could not look"."""
    failing, guarded = len(report.failing), len(report.guarded)
    yield (
        f"{report.tree}: {report.files_seen} files, {len(report.calls)} uses of watched libraries; "
        f"{len(report.bound)} bound, {len(report.open)} open"
    )
    for library in report.libraries:
        note = f" ({library.note})" if library.note else ""
        yield f"  {library.library} {library.version[:12]}: {library.source}{note}"
    reasons = Counter((call.library, call.open or "") for call in report.open)
    for (name, reason), count in reasons.most_common(5):
        yield f"  open: {count} of {name}: {reason}"
    rest = len(report.open) - sum(n for _, n in reasons.most_common(5))
    if rest:
        yield f"  open: {rest} more (--json lists each)"
    for unchecked in report.unchecked:
        yield f"cannot check {unchecked.library}: {unchecked.reason}"
        if unchecked.pinned:
            yield f"  -> {unchecked.hint}"
    for unread in report.unread:
        yield f"not read: {unread.file}: {unread.reason}"
    hidden = f", {guarded} behind a guard (--include-guarded)" if guarded and shown <= failing else ""
    yield f"{failing} failing call{'' if failing == 1 else 's'}{hidden}"


def explain(report: Report, wanted: str) -> bool:
    """Print all there is to say about one finding; False when there is none of this id."""
    for call in report.calls:
        for finding in findings([call], guarded=True):
            if finding.id != wanted:
                continue
            say_text(f"{finding.file}:{finding.line}:{finding.col}: {finding.code} {finding.kind}")
            say_text(finding.message, "  ")
            say_text(
                f"fails: {finding.confidence}{'; guarded by ' + finding.guard if finding.guard else ''}", "  "
            )
            say_text(f"reached by: {finding.how or 'its own name'}", "  ")
            if call.signature is not None:
                say_text(f"declared in {finding.declared}:", "  ")
                say_text(f"{spelled(call.signature)}", "    ")
            if finding.nearest:
                say_text(f"nearest declared names: {', '.join(finding.nearest)}", "  ")
            for library in report.libraries:
                if library.library == call.library and library.pin is not None:
                    say_text(f"pinned to {library.pin.spec} by {library.pin.file}:{library.pin.line}", "  ")
            say_text(f"what to do: docs/contract-codes/{finding.code}.md", "  ")
            return True
    return False


def github(found: Sequence[Finding]) -> Iterator[str]:
    """Workflow commands, which GitHub shows as annotations on the lines (escaped as it asks)."""
    for finding in found:
        level = "warning" if finding.guard else "error"
        place = f"file={_property(finding.file)},line={finding.line},col={finding.col}"
        title = _property(f"{finding.code} {finding.kind}")
        near = f" (nearest: {', '.join(finding.nearest)})" if finding.nearest else ""
        text = f"{finding.message}{near}; declared in {finding.declared or finding.library}"
        yield f"::{level} {place},title={title}::{_data(text)}"


def _data(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def machine(report: Report, found: Sequence[Finding]) -> dict[str, Any]:
    """The report as JSON-able data (schema pinproof.contract/1)."""
    return {
        "tree": report.tree,
        "findings": msgspec.to_builtins(found),
        "libraries": msgspec.to_builtins(report.libraries),
        "unchecked": msgspec.to_builtins(report.unchecked),
        "unread": msgspec.to_builtins(report.unread),
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
