"""A person's review: the record of every hunk read, and what each gate proved about the hunk in hand."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pinproof.patchset.patchfile import Patch
from pinproof.submit.hunks import numbered_hunks
from pinproof.submit.keys import keys
from pinproof.submit.records import (
    Assistance,
    HunkReview,
    Person,
    ReviewRecord,
    sealed,
    utc,
)
from pinproof.tree import Tree


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
        Conflict: the patch neither applies to the tree nor stands in it.
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
