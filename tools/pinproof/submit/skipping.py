"""Leave a gate out for a stated reason, under a name, where the policy lets that person."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pinproof.errors import InputError, Refused
from pinproof.gate import GateName
from pinproof.patchset.patchfile import Patch
from pinproof.submit.keys import keys
from pinproof.submit.policy import Policy
from pinproof.submit.records import Person, SkipRecord, sealed, utc
from pinproof.tree import Tree


def make_skip(
    gate: GateName, patch: Patch, tree: Tree, person: Person, reason: str, policy: Policy, now: datetime
) -> SkipRecord:
    """The record of a gate that is left out.

    Args:
        gate: which one.
        patch: for which patch.
        tree: on which tree.
        person: who decides that.
        reason: why, in words that the pull request will show.
        policy: says who may skip which gate.
        now: when, timezone-aware.

    Raises:
        Refused: the policy does not let this person skip this gate.
        InputError: the reason says nothing, or is longer than a reader will read.
        Conflict: the patch neither applies to the tree nor is in it.
    """
    if not may_skip(gate, person, policy):
        raise Refused(f"{policy.upstream}'s policy does not let {person.email} skip the {gate} gate")
    record = SkipRecord(gate=gate, keys=keys(patch, tree, gate), person=person, date=utc(now),
                        reason=" ".join(reason.split()))  # fmt: skip
    try:
        return sealed(msgspec.convert(msgspec.to_builtins(record), SkipRecord))
    except msgspec.ValidationError as error:
        raise InputError(
            f"the reason does not do: {error}", hint="say in a sentence why, 10 to 1000 characters"
        ) from error


def may_skip(gate: GateName, person: Person, policy: Policy) -> bool:
    """Whether the policy lets a person skip a gate; `submitter` stands for whoever signs off."""
    asked = policy.gates.get(gate)
    return asked is not None and ("submitter" in asked.may_skip or person.email in asked.may_skip)
