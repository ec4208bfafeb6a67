"""What an upstream's policy asks of a patch on a tree, and which of it is not met yet."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

import msgspec

from pinproof.errors import InputError
from pinproof.gate import GATES, GateName
from pinproof.patchset.patchfile import Patch
from pinproof.submit.evidence import freshness
from pinproof.submit.hunks import numbered_hunks
from pinproof.submit.policy import Policy, counted_lines, title_fault
from pinproof.submit.records import EvidenceRecord, ReviewRecord
from pinproof.submit.skipping import may_skip
from pinproof.submit.store import Store, load_evidence, load_review, load_skip
from pinproof.tree import Tree

State = Literal["met", "missing", "stale", "failed", "skipped"]

_CLEAR: dict[str, str] = {
    "contract": "pinproof ready {patch} {tree}",
    "compile": "pinproof ready {patch} {tree}",
    "pre-commit": "pinproof check {patch} {tree}",
    "duplicates": "pinproof duplicates {patch}",
    "smoke": "pinproof smoke {patch} {tree}",
    "review": "pinproof review {patch} {tree}",
}


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the policy asks for.

    `item` is a gate's name or title, upstream-status, size, review, assistance; `why` says in one
    line what stands against it, or what it rests on when it is met; `clear` is the command that
    makes it met.
    """

    item: str
    state: State
    why: str
    clear: str | None = None

    @property
    def open(self) -> bool:
        """Whether it still stands in the way; a skip with an accepted reason does not."""
        return self.state not in ("met", "skipped")


def unmet(patch: Patch, tree: Tree, policy: Policy, store: Store, now: datetime) -> list[Requirement]:
    """Everything the policy asks for that is not met, in the order in which to clear it.

    Accepted skips are in the list too (their state says so): nothing skipped may pass unseen.

    Args:
        patch: the patch.
        tree: the tree it is for, with or without the patch applied.
        policy: what the upstream asks.
        store: where the records are.
        now: the time, timezone-aware.
    """
    return [item for item in requirements(patch, tree, policy, store, now) if item.state != "met"]


def requirements(patch: Patch, tree: Tree, policy: Policy, store: Store, now: datetime) -> list[Requirement]:
    """Everything the policy asks for, met or not; arguments as for `unmet`."""
    review = _review(patch, tree, policy, store, now)
    found = [_status(patch, policy), _title(patch, policy)]
    found += [
        _gate(gate, patch, tree, policy, store, now)
        for gate in GATES
        if gate in policy.gates and policy.gates[gate].required
    ]
    return [*found, _size(patch, policy, review), *_human(patch, policy, review, tree)]


def fresh_evidence(
    patch: Patch, tree: Tree, policy: Policy, store: Store, now: datetime
) -> dict[GateName, EvidenceRecord]:
    """The records of all gates that can be read and still hold, whatever their outcome."""
    found = {}
    for gate in GATES:
        try:
            made = load_evidence(store, patch, gate, now)
        except InputError:
            continue
        if made is not None and freshness(made, patch, tree, policy, now).state == "fresh":
            found[gate] = made
    return found


def _status(patch: Patch, policy: Policy) -> Requirement:
    stated = patch.field("Upstream-Status") or ""
    if stated.split(" ", 1)[0] in policy.submit_from:
        return Requirement(item="upstream-status", state="met", why=stated)
    return Requirement(
        item="upstream-status", state="failed",
        why=f"{stated or 'not stated'}: only {' or '.join(policy.submit_from)} is submitted",
    )  # fmt: skip


def _title(patch: Patch, policy: Policy) -> Requirement:
    fault = title_fault(patch.subject, policy)
    if fault is None:
        return Requirement(item="title", state="met", why=patch.subject)
    return Requirement(
        item="title", state="failed", why=f"{patch.subject!r}: {fault}",
        clear=f"edit the Subject: of {patch.name}",
    )  # fmt: skip


def _gate(
    gate: GateName, patch: Patch, tree: Tree, policy: Policy, store: Store, now: datetime
) -> Requirement:
    clear = _CLEAR[gate].format(patch=patch.number, tree=tree.name)
    try:
        made = load_evidence(store, patch, gate, now)
    except InputError as error:
        return Requirement(item=gate, state="failed", why=f"record refused: {error.message}", clear=clear)
    state: State = "missing"
    why = "no record yet"
    if made is not None:
        state, why = _judge(made, patch, tree, policy, now)
    if state == "missing":
        return _skipped(gate, patch, tree, policy, store, now) or Requirement(
            item=gate, state=state, why=why, clear=clear
        )
    return Requirement(item=gate, state=state, why=why, clear=None if state == "met" else clear)


def _judge(
    made: EvidenceRecord, patch: Patch, tree: Tree, policy: Policy, now: datetime
) -> tuple[State, str]:
    fresh = freshness(made, patch, tree, policy, now)
    if fresh.state == "stale":
        return "stale", f"{made.outcome} on {made.date[:10]}, but {fresh.reason}"
    if made.outcome == "pass":
        return "met", made.summary
    if made.outcome in ("fail", "error"):
        return "failed", made.reason or made.summary
    return "missing", f"could not be run: {made.reason}"


def _skipped(
    gate: GateName, patch: Patch, tree: Tree, policy: Policy, store: Store, now: datetime
) -> Requirement | None:
    """The accepted skip of a gate, or what is wrong with the one there is; None when there is none."""
    try:
        skip = load_skip(store, patch, gate, now)
        review = load_review(store, patch, now)
    except InputError as error:
        return Requirement(item=gate, state="failed", why=f"record refused: {error.message}")
    if skip is None:
        return None
    who = f"{skip.person.name} <{skip.person.email}>"
    clear = _CLEAR[gate].format(patch=patch.number, tree=tree.name)
    fresh = freshness(skip, patch, tree, policy, now)
    if fresh.state == "stale":
        return Requirement(item=gate, state="stale", why=f"the skip is stale: {fresh.reason}", clear=clear)
    named = skip.person.email in policy.gates[gate].may_skip
    submits = named or review is None or review.person.email == skip.person.email
    if not may_skip(gate, skip.person, policy) or not submits:
        return Requirement(item=gate, state="failed", why=f"{who} may not skip it by the policy", clear=clear)
    return Requirement(item=gate, state="skipped", why=f"{skip.reason} ({who}, {skip.date[:10]})")


def _size(patch: Patch, policy: Policy, review: ReviewRecord | Requirement | None) -> Requirement:
    lines, limit = counted_lines(patch, policy), policy.size.rfc_over_lines
    rfc = review.rfc if isinstance(review, ReviewRecord) else None
    if lines <= limit or rfc:
        why = f"{lines} changed lines" + (f", RFC {rfc}" if lines > limit else f" (RFC above {limit})")
        return Requirement(item="size", state="met", why=why)
    return Requirement(
        item="size", state="missing", why=f"{lines} changed lines: above {limit} an RFC issue is needed",
        clear=f"open an RFC issue, then give it in pinproof review {patch.number}",
    )  # fmt: skip


def _review(
    patch: Patch, tree: Tree, policy: Policy, store: Store, now: datetime
) -> ReviewRecord | Requirement | None:
    """The review that counts; a requirement that says why the one there is does not; None for none."""
    try:
        made = load_review(store, patch, now)
    except InputError as error:
        return Requirement(item="review", state="failed", why=f"record refused: {error.message}")
    if made is None:
        return None
    fresh = freshness(made, patch, tree, policy, now)
    if fresh.state == "stale":
        return Requirement(item="review", state="stale", why=f"{made.person.name}'s is stale: {fresh.reason}")
    read = {(hunk.path, hunk.hunk, hunk.lines_sha256) for hunk in made.hunks}
    left = [hunk for hunk in numbered_hunks(patch) if (hunk.path, hunk.number, hunk.sha256) not in read]
    if left:
        return Requirement(item="review", state="failed", why=f"{len(left)} hunks were not read by a person")
    return made


def _human(
    patch: Patch, policy: Policy, review: ReviewRecord | Requirement | None, tree: Tree
) -> Iterator[Requirement]:
    clear = _CLEAR["review"].format(patch=patch.number, tree=tree.name)
    asked = [("review", policy.human.review), ("assistance", policy.human.assistance)]
    for item in (name for name, wanted in asked if wanted):
        if isinstance(review, ReviewRecord):
            yield Requirement(item=item, state="met", why=_said(item, review))
        elif isinstance(review, Requirement):
            yield msgspec.structs.replace(review, item=item, clear=clear)
        else:
            why = "no person has read every hunk yet" if item == "review" else "not answered by a person yet"
            yield Requirement(item=item, state="missing", why=why, clear=clear)


def _said(item: str, review: ReviewRecord) -> str:
    if item == "review":
        count = len(review.hunks)
        return f"{review.person.name} read {count} hunk{'s' * (count != 1)} on {review.date[:10]}"
    if review.assistance.used:
        return f"AI assisted: {', '.join(review.assistance.assistants)}"
    return "no AI assistance"
