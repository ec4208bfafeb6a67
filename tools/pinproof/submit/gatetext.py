"""What each gate's record says in a pull request: its row, its commands, and what it did not prove."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pinproof.gate import GateName
from pinproof.submit.records import EvidenceRecord

Details = dict[str, Any]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One gate in the table: configuration, before, after; the claim it supports; commands to repeat it."""

    name: str
    config: str
    before: str
    after: str
    claim: str = ""
    commands: tuple[str, ...] = ()


def row(record: EvidenceRecord) -> Row:
    """A gate's row, from its record."""
    return _ROWS[record.gate](record)


def limits(record: EvidenceRecord) -> list[str]:
    """What the gate says itself that it did not prove."""
    return _LIMITS[record.gate](record.details) if record.gate in _LIMITS else []


def _contract(record: EvidenceRecord) -> Row:
    before, after = record.details["before"], record.details["after"]
    signatures = [call["signature"] for call in after["calls"] if call["signature"]]
    return Row(
        name="contract", config=signatures[0]["place"]["source"] if signatures else "no contract stated",
        before=_binding(before), after=_binding(after),
        claim=f"Every call the patch is about binds to the pinned signature: {_binding(after)}",
        commands=(f"pinproof verdict {record.keys.patch.split('-', 1)[0]} .",),
    )  # fmt: skip


def _binding(verdict: Details) -> str:
    calls = verdict["calls"]
    failing = [call for call in calls if call["drifts"] and call["guard"] is None]
    if failing:
        drift = failing[0]["drifts"][0]
        return f"{len(failing)} of {len(calls)} calls fail: {drift['kind']} {', '.join(drift['names'])}"
    bound = sum(call["open"] is None for call in calls)
    return f"{bound} of {len(calls)} calls bind"


def _compile(record: EvidenceRecord) -> Row:
    details = record.details
    files = " ".join(details["files"])
    return Row(
        name="compile", config=", ".join(f"Python {item['python']}" for item in details["checked"]),
        before="-", after=record.summary, claim=record.summary,
        commands=(f"python -m py_compile {files}",) if files else (),
    )  # fmt: skip


def _duplicates(record: EvidenceRecord) -> Row:
    return Row(name="duplicates", config=record.details["repo"], before="-", after=record.summary)


def _precommit(record: EvidenceRecord) -> Row:
    files = " ".join(record.details["files"])
    ran = [hook for hook in record.details["hooks"] if hook["outcome"] in ("pass", "fail")]
    return Row(
        name="pre-commit", config=f"{len(ran)} hooks of the tree's own .pre-commit-config.yaml", before="-",
        after=record.summary, claim=f"The tree's own pre-commit hooks pass: {record.summary}",
        commands=(f"pre-commit run --files {files}", f"pre-commit run --hook-stage manual --files {files}"),
    )  # fmt: skip


def _smoke(record: EvidenceRecord) -> Row:
    details = record.details
    gpu = (details["gpu"] or {}).get("name") or "no GPU"
    versions = details["versions"]
    tools = [f"{name} {versions[name]}" for name in ("torch", "nvcc") if versions.get(name)]
    return Row(
        name="smoke", config=", ".join([gpu, *tools]), before="-", after=record.summary,
        claim=f"The real code runs as far as the machine allows: {record.summary}",
        commands=(f"pinproof smoke . --probe {details['probe']} --rung {details['asked']}",),
    )  # fmt: skip


def _smoke_limits(details: Details) -> list[str]:
    found = []
    if details["sm100_numerics"] == "not run":
        gpu = (details["gpu"] or {}).get("name")
        where = f"the machine has {gpu}" if gpu else "the machine has no GPU"
        found.append(f"smoke: the kernel's numbers on SM100, the only architecture it runs on ({where})")
    for rung in details["rungs"]:
        if "refused" in rung["details"].get("verdict", ""):  # a pass for the contract, not for the kernel
            found.append(f"smoke: the kernel did not run on this GPU: {rung['summary']}")
        if rung["outcome"] != "pass":
            found.append(
                f"smoke: the {rung['rung']} rung ({rung['outcome']}: {rung['reason'] or rung['summary']})"
            )
    return found


def _precommit_limits(details: Details) -> list[str]:
    replaced = [hook["hook"] for hook in details["hooks"] if " instead of " in (hook["note"] or "")
                and hook["outcome"] in ("pass", "fail")]  # fmt: skip
    if not replaced:
        return []
    return [
        f"pre-commit: the hooks' own repositories; the same tools came as packages for {', '.join(replaced)}"
    ]


def _contract_limits(details: Details) -> list[str]:
    rung = details.get("witness") or {"outcome": "skip", "summary": "recorded before witnesses were"}
    return [] if rung["outcome"] == "pass" else [f"contract: no witness ({rung['summary']})"]


_ROWS: dict[GateName, Callable[[EvidenceRecord], Row]] = {
    "contract": _contract, "compile": _compile, "duplicates": _duplicates,
    "pre-commit": _precommit, "smoke": _smoke,
}  # fmt: skip

_LIMITS: dict[GateName, Callable[[Details], list[str]]] = {
    "contract": _contract_limits, "pre-commit": _precommit_limits, "smoke": _smoke_limits,
}  # fmt: skip
