"""What a hit is: the same change, the same problem, related or different, and the sentence that says why."""

from __future__ import annotations

from typing import Literal

import msgspec

from pinproof.duplicates.diffs import DiffFacts
from pinproof.duplicates.ranking import WEIGHTS, Scored, other_branch
from pinproof.duplicates.subject import Subject

Verdict = Literal[
    "same change", "same problem, other approach", "backport", "reverted", "related", "different"
]

SHARED_LINES, SHARED_FILES, SHARED_MUCH = 0.15, 0.3, 0.25
"""Two approaches to one problem share this part of both sides' changed lines, weighed by rarity, in files
that say something; or the last part in any shared file."""
SHARED_AT_ONCE = 0.20
"""The same of the smaller side, where both were written at one time for one place."""
HEAP = 0.3
"""A closed pull request of which the patch is less than this is a heap of changes that nobody took."""
SAME_PROBLEM = 80.0
RELATED = 22.0


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A judged candidate, as reports and evidence keep it."""

    number: int
    kind: str
    state: str
    title: str
    author: str
    created: str
    head: str | None
    score: float
    verdict: Verdict
    reason: str
    signals: dict[str, float]
    draft: bool
    base: str
    diff_seen: bool
    """Whether its whole diff was compared; one that GitHub shows in part is not."""
    diff_cut: bool


def judge(subject: Subject, scored: Scored) -> Hit:
    """The verdict on a scored candidate, with its reason."""
    candidate = scored.candidate
    verdict, why = _verdict(subject, scored)
    matched = sorted(scored.signals.values(), key=lambda item: -item.strength * WEIGHTS[item.name])
    told = [item.words for item in matched if item.strength * WEIGHTS[item.name] >= 2][:4]
    return Hit(
        number=candidate.number, kind=candidate.kind, state=candidate.state, title=candidate.title,
        author=candidate.author, created=candidate.created.date().isoformat(), head=candidate.head,
        score=scored.score, verdict=verdict, reason="; ".join([*([why] if why else []), *told]),
        signals={item.name: item.strength for item in matched}, draft=candidate.draft, base=candidate.base,
        diff_seen=candidate.diff is not None and candidate.diff.whole,
        diff_cut=candidate.diff is not None and not candidate.diff.whole,
    )  # fmt: skip


def _verdict(subject: Subject, scored: Scored) -> tuple[Verdict, str]:
    candidate = scored.candidate
    if candidate.kind == "issue":
        return ("related", "an issue, not a change") if scored.score >= RELATED else ("different", "an issue")
    other = _other_value(subject, candidate.diff)
    if scored.strength("change") and not other:
        return _same_change(subject, scored)
    if _same_problem(scored):
        if other_branch(subject, scored.candidate):
            return "backport", f"much the same for {scored.candidate.base}"
        return "same problem, other approach", other or _approach(scored)
    if scored.score >= RELATED or scored.strength("place") >= 0.8:
        return "related", other
    return "different", ""


def _same_change(subject: Subject, scored: Scored) -> tuple[Verdict, str]:
    """The same change in another branch is a backport, one that was taken back is none any more."""
    candidate = scored.candidate
    if candidate.undone_by is not None:
        return "reverted", f"#{candidate.undone_by} took it back"
    shared = candidate.overlap
    if candidate.state == "closed" and shared.of_theirs < min(HEAP, shared.of_ours):
        return "related", "a closed one that holds the patch among much else"
    if other_branch(subject, candidate):
        return "backport", f"the same change for {candidate.base}"
    return "same change", ""


def _same_problem(scored: Scored) -> bool:
    """Both fix one issue or one error at a shared place, or they share lines and much else."""
    near = max(scored.strength("files"), scored.strength("place"))
    if candidate_closes(scored) and (near or scored.strength("names") >= 0.2):
        return True
    if scored.strength("error") and near:
        return True
    shared = scored.candidate.overlap
    if _at_once(scored) and shared.of_smaller >= SHARED_AT_ONCE:
        return True
    enough = SHARED_LINES if scored.strength("files") >= SHARED_FILES else SHARED_MUCH
    return scored.score >= SAME_PROBLEM and near > 0 and shared.of_both >= enough


def _at_once(scored: Scored) -> bool:
    """Whether both change one place of a rarely changed file within two days."""
    strength = scored.strength
    return strength("time") >= 0.6 and strength("place") >= 0.6 and strength("files") >= 0.3


def candidate_closes(scored: Scored) -> bool:
    """Whether both say that they fix the same issue."""
    signal = scored.signals.get("issue")
    return signal is not None and signal.words.startswith("fixes the same issue")


def _approach(scored: Scored) -> str:
    if scored.candidate.diff is None:
        return "its diff was not seen"
    if not scored.candidate.diff.whole:
        return "its diff was seen in part only"
    return "other lines" if scored.strength("place") else "another place"


def _other_value(subject: Subject, theirs: DiffFacts | None) -> str:
    """Why two pin bumps differ: the values they put in have nothing in common."""
    if theirs is None or not subject.diff.pins or not theirs.pins or subject.diff.pins & theirs.pins:
        return ""
    return f"sets {_value(theirs.pins)}, the patch {_value(subject.diff.pins)}"


def _value(pins: set[str]) -> str:
    pin = min(pins)
    return pin[1:].replace("_", ".") if pin.startswith("v") else pin[1:]
