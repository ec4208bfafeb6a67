"""Findings as GitLab takes them: a code quality report (a subset of the Code Climate format).

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pinproof.contract.output.findings import Finding


def report(found: Sequence[Finding]) -> list[dict[str, Any]]:
    """One entry a finding; GitLab tells new from old ones by the fingerprint, which survives moved lines."""
    seen: dict[str, int] = {}
    entries: list[dict[str, Any]] = []
    for finding in found:
        number = seen[finding.id] = seen.get(finding.id, 0) + 1
        entries.append(
            {
                "description": f"{finding.message}; declared in {finding.declared or finding.library}",
                "check_name": f"{finding.code} {finding.kind}",
                "fingerprint": finding.id if number == 1 else f"{finding.id}-{number}",
                "severity": _severity(finding),
                "location": {"path": finding.file, "lines": {"begin": finding.line}},
            }
        )
    return entries


def _severity(finding: Finding) -> str:
    if finding.guard:
        return "info"
    return "critical" if finding.confidence == "always" else "major"
