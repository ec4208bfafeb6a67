"""Take in a record that was made elsewhere, on a GPU machine say, after holding it against patch and tree."""

from __future__ import annotations

from datetime import datetime

from pinproof.errors import Refused
from pinproof.patchset.patchfile import Patch
from pinproof.submit.evidence import freshness
from pinproof.submit.keys import patch_hash
from pinproof.submit.outcome import check_outcome
from pinproof.submit.policy import Policy
from pinproof.submit.records import EvidenceRecord, decode
from pinproof.tree import Tree


def import_record(
    raw: bytes, name: str, patch: Patch, tree: Tree, policy: Policy, now: datetime
) -> EvidenceRecord:
    """A record from elsewhere, when it speaks about this patch and tree and does not contradict itself.

    Args:
        raw: the bytes of the file.
        name: its name, for messages.
        patch: the patch it must be about.
        tree: the tree it must be about.
        policy: how old it may be.
        now: the time, timezone-aware.

    Raises:
        InputError: it is truncated, edited, of another schema, dated in the future, or its outcome does
            not follow from its details.
        Refused: it is about another patch or tree, or too old.
    """
    made = decode(raw, EvidenceRecord, name, now)
    check_outcome(made)
    if made.keys.patch_sha256 != patch_hash(patch):
        raise Refused(
            f"{name} is about another patch ({made.keys.patch}), or about an older state of this one"
        )
    fresh = freshness(made, patch, tree, policy, now)
    if fresh.state == "stale":
        raise Refused(f"{name} does not speak about this tree: {fresh.reason}")
    return made
