"""Everything a pull request is written from: the patch, the base, the records that count."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pinproof.errors import Refused
from pinproof.gate import GATES, GateName
from pinproof.patchset.patchfile import Patch
from pinproof.submit.evidence import freshness
from pinproof.submit.policy import Policy
from pinproof.submit.records import EvidenceRecord, ReviewRecord, SkipRecord
from pinproof.submit.requirements import fresh_evidence, unmet
from pinproof.submit.store import Store, load_review, load_skip
from pinproof.tree import Tree


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A patch that is ready: fresh evidence for every required gate, or an accepted skip; a review."""

    patch: Patch
    base: Tree
    policy: Policy
    evidence: dict[GateName, EvidenceRecord]
    skips: dict[GateName, SkipRecord]
    review: ReviewRecord


def load_draft(patch: Patch, base: Tree, policy: Policy, store: Store, now: datetime) -> Draft:
    """Collect what a pull request is written from.

    Args:
        patch: the patch.
        base: the tree it goes on.
        policy: the upstream's policy.
        store: where the records are.
        now: the time, timezone-aware.

    Raises:
        Refused: something the policy asks for is missing, stale or failed; the message names the
            first, the hint the command that clears it.
    """
    open_items = [item for item in unmet(patch, base, policy, store, now) if item.open]
    if open_items:
        first = open_items[0]
        more = f" (and {len(open_items) - 1} more)" if len(open_items) > 1 else ""
        raise Refused(
            f"{patch.name} is not ready: {first.item} is {first.state}: {first.why}{more}",
            hint=first.clear or f"pinproof ready {patch.number} {base.name}",
        )
    found = fresh_evidence(patch, base, policy, store, now)
    evidence = {gate: made for gate, made in found.items() if made.outcome == "pass"}
    skips = {}
    for gate in GATES:
        skip = None if gate in evidence else load_skip(store, patch, gate, now)
        if skip and freshness(skip, patch, base, policy, now).state == "fresh":
            skips[gate] = skip
    review = load_review(store, patch, now)
    if review is None:
        raise Refused(f"{patch.name} has no review", hint=f"pinproof review {patch.number} {base.name}")
    return Draft(patch=patch, base=base, policy=policy, evidence=evidence, skips=skips, review=review)
