"""What every gate hands back: one result type, read by tables, JSON, evidence and the pull request."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from pinproof.errors import Exit

GateName = Literal["contract", "compile", "pre-commit", "duplicates", "smoke"]
Outcome = Literal["pass", "fail", "skip", "error", "not-run"]

GATES: tuple[GateName, ...] = ("contract", "compile", "pre-commit", "duplicates", "smoke")


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one gate on one patch and one tree.

    `summary` is one line for people; `reason` says why when the outcome is skip, error or not-run;
    `clear` is the command that turns an unmet gate into a met one; `details` is the gate's own
    JSON-able record (tables and evidence keep it, nothing outside the gate interprets it).
    """

    gate: GateName
    outcome: Outcome
    summary: str
    reason: str | None = None
    clear: str | None = None
    duration_s: float = 0.0
    details: dict[str, Any] = msgspec.field(default_factory=dict)


def exit_code(results: list[GateResult]) -> Exit:
    """The exit code for a set of gates: a failure outweighs a skip, a skip outweighs a pass."""
    outcomes = {result.outcome for result in results}
    if outcomes & {"fail", "error"}:
        return Exit.FAILED
    if outcomes & {"skip", "not-run"}:
        return Exit.SKIPPED
    return Exit.OK
