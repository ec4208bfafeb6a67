"""A contract run as Markdown, for a job's summary or a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pinproof.contract.model import Report
from pinproof.contract.output.findings import Finding
from pinproof.markdown import code, table, text

# A job summary holds 1 MiB; nobody reads more rows than these there.
_ROWS = 50


def document(report: Report, found: Sequence[Finding]) -> str:
    """The Markdown text."""
    return "\n".join(_lines(report, found)) + "\n"


def _lines(report: Report, found: Sequence[Finding]) -> Iterator[str]:
    failing = sum(not finding.guard for finding in found)
    yield f"### Kernel contract of {code(report.tree)}"
    yield ""
    said = f"{failing} failing call{'s' if failing != 1 else ''}" if failing else "No call fails"
    yield f"**{said}.** {len(report.bound)} bound, {len(report.open)} open, {report.files_seen} files."
    if found:
        yield ""
        yield table(("where", "what", "declared in"), [_row(finding) for finding in found[:_ROWS]])
    if len(found) > _ROWS:
        yield ""
        yield f"{len(found) - _ROWS} more are in the log."
    if report.unchecked:
        yield ""
        yield "Not checked:"
        yield ""
        yield from (f"- {code(item.library)}: {text(item.reason)}" for item in report.unchecked)


def _row(finding: Finding) -> tuple[str, str, str]:
    near = f" (nearest: {', '.join(finding.nearest)})" if finding.nearest else ""
    guard = f", behind a guard: {finding.guard}" if finding.guard else ""
    return (
        code(f"{finding.file}:{finding.line}"),
        text(f"{finding.code} {finding.message}{near}{guard}"),
        text(finding.declared or finding.library),
    )
