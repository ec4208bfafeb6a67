"""One gate's result as a record: keyed, freed of this machine's paths and secrets, trimmed, sealed."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Literal

import msgspec

from pinproof import __version__
from pinproof.errors import Conflict
from pinproof.gate import GateName, GateResult
from pinproof.git import git
from pinproof.patchset.patchfile import Patch
from pinproof.submit.keys import difference, keys
from pinproof.submit.outcome import check_outcome
from pinproof.submit.policy import Policy
from pinproof.submit.records import EvidenceRecord, ReviewRecord, SkipRecord, TreeId, moment, sealed, utc
from pinproof.submit.scrub import scrubbed, trimmed
from pinproof.tree import Tree

# Raise a gate's number when it starts to prove something else: its older records become stale.
GATE_VERSIONS: dict[GateName, int] = {
    "contract": 2, "compile": 1, "pre-commit": 1, "duplicates": 1, "smoke": 2,
}  # fmt: skip


class Freshness(msgspec.Struct, frozen=True):
    """Whether a record still holds, and if not, why."""

    state: Literal["fresh", "stale"]
    reason: str | None = None


def record(
    patch: Patch, tree: Tree | None, result: GateResult, now: datetime | None = None
) -> EvidenceRecord:
    """The evidence of one gate's run.

    Args:
        patch: the patch the gate looked at.
        tree: the tree it looked at, with or without the patch applied; None for a gate that looks at none.
        result: what the gate returned.
        now: when, timezone-aware; the present by default.

    Returns:
        A sealed record: long texts trimmed and referenced by hash, paths of this machine and tokens
        replaced.

    Raises:
        Conflict: the patch neither applies to the tree nor is in it.
        InputError: the result's outcome contradicts its own details.
    """
    details, logs = trimmed(scrubbed(result.details, tree))
    made = EvidenceRecord(
        gate=result.gate,
        gate_version=GATE_VERSIONS[result.gate],
        pinproof=__version__,
        keys=keys(patch, tree, result.gate),
        tree=None if tree is None else tree_id(tree),
        date=utc(now or datetime.now(timezone.utc)),
        outcome=result.outcome,
        summary=scrubbed(result.summary, tree),
        reason=scrubbed(result.reason, tree),
        duration_s=round(result.duration_s, 3),
        details=details,
        logs=logs,
    )
    check_outcome(made)
    return sealed(made)


def tree_id(tree: Tree) -> TreeId:
    """Which tree this is, without where it lies: kind, package, version, and the commit of a checkout."""
    commit = None
    if tree.kind == "git" and tree.root is not None:
        done = git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], cwd=tree.root, check=False)
        commit = done.stdout.decode().strip() or None
    return TreeId(kind=tree.kind, package=tree.package, version=tree.version, commit=commit)


def freshness(
    made: EvidenceRecord | ReviewRecord | SkipRecord, patch: Patch, tree: Tree, policy: Policy, now: datetime
) -> Freshness:
    """Whether a record still speaks about this patch and tree.

    Args:
        made: the record.
        patch: the patch as it is now.
        tree: the tree as it is now.
        policy: how old a gate's record may be.
        now: the time, timezone-aware.
    """
    gate = None if isinstance(made, ReviewRecord) else made.gate
    try:
        changed = difference(made.keys, keys(patch, tree, gate))
    except Conflict as error:
        changed = error.message
    if changed is None and isinstance(made, EvidenceRecord):
        if made.gate_version != GATE_VERSIONS[made.gate]:
            changed = f"the {made.gate} gate checks more since (version {GATE_VERSIONS[made.gate]})"
        else:
            changed = _too_old(made, policy, now)
    return Freshness("fresh") if changed is None else Freshness("stale", changed)


def _too_old(made: EvidenceRecord, policy: Policy, now: datetime) -> str | None:
    hours = policy.gates[made.gate].max_age_hours if made.gate in policy.gates else None
    if hours is None:
        return None
    age = now - moment(made.date, made.gate)
    if age <= timedelta(hours=hours):
        return None
    return f"it is {age.total_seconds() / 3600:.0f} h old; the policy allows {hours:g} h"


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the three kinds of record, as docs/evidence.schema.json holds it."""
    kinds = (EvidenceRecord, ReviewRecord, SkipRecord)
    refs, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pinproof evidence, review and skip records",
        "oneOf": list(refs),
        "$defs": components,
    }


def schema_text() -> str:
    """The schema as docs/evidence.schema.json holds it."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode() + "\n"
