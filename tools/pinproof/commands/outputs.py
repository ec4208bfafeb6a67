"""The JSON that each command prints, as types: docs/schemas holds the JSON Schema made from them.

The version in a schema's name changes when a field goes away, changes its meaning or its type; new fields
may come at any time (docs/json.md).
"""

from __future__ import annotations

from typing import Any

import msgspec

from pinproof.contract.model import LibraryUsed, Unchecked, Unread
from pinproof.contract.output.findings import Finding
from pinproof.drift.findings import Findings
from pinproof.gate import GateResult
from pinproof.history.model import History
from pinproof.patchset.apply import Step
from pinproof.patchset.installed import Applied
from pinproof.patchset.lint import Problem
from pinproof.patchset.verdict import Verdict
from pinproof.pins.decide import Disagreement
from pinproof.pins.model import Pin
from pinproof.submit.checklist import Filled
from pinproof.submit.requirements import Requirement
from pinproof.submit.status import PatchStatus


class Output(msgspec.Struct, kw_only=True):
    """What every output begins with."""

    schema: str


class ApplyOutput(Output):
    """`pinproof apply --json` (pinproof.apply/1)."""

    tree: str
    dry_run: bool
    revert: bool
    steps: list[Step]
    files: list[str]
    diff: str


class CheckedPatch(msgspec.Struct, kw_only=True):
    """The gates that ran on one patch."""

    patch: str
    gates: list[GateResult]


class CheckOutput(Output):
    """`pinproof check --json` (pinproof.check/1)."""

    tree: str
    patches: list[CheckedPatch]


class ChecklistOutput(Output):
    """`pinproof checklist --json` (pinproof.checklist/1)."""

    patch: str
    items: list[Filled]


class Coverage(msgspec.Struct, kw_only=True):
    """How much was looked at: files, uses of watched libraries, and what became of them."""

    files: int
    uses: int
    bound: int
    open: int
    failing: int
    guarded: int


class OpenCall(msgspec.Struct, kw_only=True):
    """A call that could not be decided, and why."""

    file: str
    line: int
    callee: str
    reason: str | None


class AcceptedFinding(msgspec.Struct):
    """A finding that a person let pass."""

    id: str
    code: str
    reason: str


class ContractOutput(Output):
    """`pinproof contract --json` (pinproof.contract/1)."""

    tree: str
    findings: list[Finding]
    libraries: list[LibraryUsed]
    unchecked: list[Unchecked]
    unread: list[Unread]
    coverage: Coverage
    open: list[OpenCall]
    exit: int
    accepted: list[AcceptedFinding]
    baseline: int
    unproved: list[str]
    notes: list[str]
    disagreements: list[Disagreement]
    already: list[Finding] | msgspec.UnsetType = msgspec.UNSET
    mended: list[Finding] | msgspec.UnsetType = msgspec.UNSET


class DuplicatesOutput(Output):
    """`pinproof duplicates --json` (pinproof.duplicates/1)."""

    results: list[GateResult]


class EvidenceItem(Requirement, frozen=True):
    """An item of the policy with the day of the record behind it."""

    date: str | None
    counted: str


class EvidenceListOutput(Output):
    """`pinproof evidence list --json` (pinproof.evidence-list/1)."""

    patch: str
    tree: str
    items: list[EvidenceItem]


class ExportOutput(Output):
    """`pinproof export --json` (pinproof.export/1)."""

    patches: list[str]
    changed: list[str]
    written: bool


class FetchOutput(Output):
    """`pinproof fetch --json` (pinproof.fetch/1)."""

    release: str
    dir: str
    without: list[str]


class LintOutput(Output):
    """`pinproof lint --json` (pinproof.lint/1)."""

    problems: list[Problem]


class PinsOutput(Output):
    """`pinproof pins --json` (pinproof.pins/1)."""

    tree: str
    pins: list[Pin]
    disagreements: list[Disagreement]


class ReadyPatch(msgspec.Struct, kw_only=True):
    """The main job on one patch, and everything that the policy asks for."""

    patch: str
    verdict: Verdict
    steps: list[Step]
    ran: list[GateResult]
    asked: list[Requirement]
    ready: bool


class ReadyOutput(Output):
    """`pinproof ready --json` (pinproof.ready/1)."""

    tree: str
    patches: list[ReadyPatch]


class SmokeOutput(Output):
    """`pinproof smoke --json` (pinproof.smoke/1)."""

    gate: GateResult


class SnapshotOutput(Output):
    """`pinproof snapshot --json` (pinproof.snapshot/1)."""

    library: str
    version: str
    source: str
    modules: int
    file: str


class StatusOutput(Output):
    """`pinproof status --json` (pinproof.status/1)."""

    patches: list[PatchStatus]
    missing: str | None


class SubmitOutput(Output):
    """`pinproof submit --json` (pinproof.submit/1)."""

    patch: str
    branch: str
    commit: str
    base: str
    title: str
    message: str
    body: str
    fork: str
    commands: list[list[str]]
    sent: bool


class VerdictOutput(Output):
    """`pinproof verdict --json` (pinproof.verdict/1)."""

    verdicts: list[Verdict]


OUTPUTS: dict[str, type[msgspec.Struct]] = {
    "applied": Applied,
    "apply": ApplyOutput,
    "check": CheckOutput,
    "checklist": ChecklistOutput,
    "contract": ContractOutput,
    "drift": Findings,
    "duplicates": DuplicatesOutput,
    "evidence-list": EvidenceListOutput,
    "export": ExportOutput,
    "fetch": FetchOutput,
    "history": History,
    "lint": LintOutput,
    "pins": PinsOutput,
    "ready": ReadyOutput,
    "smoke": SmokeOutput,
    "snapshot": SnapshotOutput,
    "status": StatusOutput,
    "submit": SubmitOutput,
    "verdict": VerdictOutput,
}
VERSION = 1


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of one output; its `schema` field must be pinproof.NAME/1."""
    (top,), definitions = msgspec.json.schema_components([OUTPUTS[name]], ref_template="#/$defs/{name}")
    own = definitions[OUTPUTS[name].__name__]
    own["properties"]["schema"] = {"const": f"pinproof.{name}/{VERSION}"}
    own["required"] = sorted({"schema", *own.get("required", [])})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"pinproof.{name}/{VERSION}",
        **top,
        "$defs": dict(sorted(definitions.items())),
    }
