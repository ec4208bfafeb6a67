"""Findings as SARIF 2.1.0 (OASIS Standard, 27 March 2020), which code-scanning services take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pinproof import __version__
from pinproof.contract.output.findings import CODES, TITLES, Finding

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def log(found: Sequence[Finding]) -> dict[str, Any]:
    """A SARIF log with one run."""
    rules = [
        {
            "id": code,
            "name": "".join(part.title() for part in kind.split("-")),
            "shortDescription": {"text": TITLES[kind]},
            "defaultConfiguration": {"level": "error"},
        }
        for kind, code in CODES.items()
    ]
    driver = {"name": "pinproof", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(f) for f in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding) -> dict[str, Any]:
    near = f" Nearest declared: {', '.join(finding.nearest)}." if finding.nearest else ""
    text = f"{finding.message}. Declared in {finding.declared or finding.library}.{near}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": list(CODES.values()).index(finding.code),
        "level": "note" if finding.guard else "error",
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(os.fsencode(finding.file)), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": finding.line, "startColumn": finding.col},
                }
            }
        ],
        "partialFingerprints": {"pinproofFinding/v1": finding.id},
    }
    if finding.guard:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.guard}]
    return result
