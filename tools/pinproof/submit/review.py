"""A person's review: the record of every hunk read, and what each gate proved about the hunk in hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from pinproof.gate import GATES, GateName
from pinproof.patchset.patchfile import Patch
from pinproof.submit.hunks import NumberedHunk, numbered_hunks
from pinproof.submit.keys import keys
from pinproof.submit.records import (
    Assistance,
    EvidenceRecord,
    HunkReview,
    Person,
    ReviewRecord,
    sealed,
    utc,
)
from pinproof.tree import Tree

_REACH = 30
"""How many lines above a hunk a call may begin that the hunk is still about."""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What the person answered: the assistants' names (none: no AI), the RFC, the policy's questions."""

    assistants: list[str] = []
    rfc: str | None = None
    questions: dict[str, bool] = {}


def make_review(patch: Patch, tree: Tree, person: Person, answers: Answers, now: datetime) -> ReviewRecord:
    """The record of a review in which the person said yes to every hunk.

    Args:
        patch: the patch they read.
        tree: the tree it is for.
        person: who they are.
        answers: what they answered.
        now: when, timezone-aware.

    Raises:
        Conflict: the patch neither applies to the tree nor is in it.
    """
    date = utc(now)
    return sealed(
        ReviewRecord(
            keys=keys(patch, tree),
            person=person,
            date=date,
            hunks=[HunkReview(path=hunk.path, hunk=hunk.number, lines_sha256=hunk.sha256, at=date)
                   for hunk in numbered_hunks(patch)],
            assistance=Assistance(used=bool(answers.assistants), assistants=answers.assistants),
            answers=answers.questions,
            rfc=answers.rfc,
        )
    )  # fmt: skip


def proofs_for(hunk: NumberedHunk, evidence: Mapping[GateName, EvidenceRecord]) -> Iterator[str]:
    """What each gate proved about one hunk, a line each; gates without a record say so."""
    for gate in GATES:
        made = evidence.get(gate)
        if made is None:
            yield f"{gate}: no evidence"
        elif gate == "contract":
            yield f"contract: {made.outcome}: {_calls_in(hunk, made) or made.summary}"
        elif gate in ("compile", "pre-commit"):
            covered = hunk.path in made.details.get("files", [])
            yield f"{gate}: {made.outcome}: {made.summary}" + ("" if covered else " (not on this file)")
        else:
            yield f"{gate}: {made.outcome}: {made.summary}"


def _calls_in(hunk: NumberedHunk, made: EvidenceRecord) -> str:
    """The checked calls whose statement reaches into the hunk, before and after."""
    part = hunk.hunk
    found = []
    for side, start, count in (
        ("before", part.old_start, part.old_count),
        ("after", part.new_start, part.new_count),
    ):
        for call in made.details[side]["calls"] if made.details else []:
            # A call's arguments stand below its first line: one that begins a little above reaches in.
            if call["file"] == hunk.path and start - _REACH <= call["line"] <= start + count:
                drifts = "; ".join(f"{drift['kind']} {', '.join(drift['names'])}" for drift in call["drifts"])
                found.append(f"{side}, line {call['line']}: {call['callee']} {drifts or 'binds'}")
    return " | ".join(found)
