"""What a hit is: the same change, the same problem, related or different, and the sentence that says why."""

from __future__ import annotations

from typing import Literal

import msgspec

from pinproof.duplicates.diffs import DiffFacts
from pinproof.duplicates.ranking import WEIGHTS, Scored
from pinproof.duplicates.subject import Subject

Verdict = Literal["same change", "same problem, other approach", "related", "different"]

SAME_PROBLEM = 36.0
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
    diff_seen: bool


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
        signals={item.name: item.strength for item in matched}, diff_seen=candidate.diff is not None,
    )  # fmt: skip


def _verdict(subject: Subject, scored: Scored) -> tuple[Verdict, str]:
    candidate = scored.candidate
    if candidate.kind == "issue":
        return ("related", "an issue, not a change") if scored.score >= RELATED else ("different", "an issue")
    other = _other_value(subject, candidate.diff)
    if scored.strength("change") and not other:
        return "same change", ""
    if _same_problem(scored):
        return "same problem, other approach", other or _approach(scored)
    if scored.score >= RELATED or scored.strength("place") >= 0.8:
        return "related", other
    return "different", ""


def _same_problem(scored: Scored) -> bool:
    """Both fix one issue or one error at a shared place, or enough of everything else points there."""
    near = max(scored.strength("files"), scored.strength("place"))
    if candidate_closes(scored) and (near or scored.strength("names") >= 0.2):
        return True
    if scored.strength("error") and near:
        return True
    return scored.score >= SAME_PROBLEM and near > 0


def candidate_closes(scored: Scored) -> bool:
    """Whether both say that they fix the same issue."""
    signal = scored.signals.get("issue")
    return signal is not None and signal.words.startswith("fixes the same issue")


def _approach(scored: Scored) -> str:
    if scored.candidate.diff is None:
        return "its diff was not seen"
    return "other lines" if scored.strength("place") else "another place"


def _other_value(subject: Subject, theirs: DiffFacts | None) -> str:
    """Why two pin bumps differ: the values they put in have nothing in common."""
    if theirs is None or not subject.diff.pins or not theirs.pins or subject.diff.pins & theirs.pins:
        return ""
    return f"sets {_value(theirs.pins)}, the patch {_value(subject.diff.pins)}"


def _value(pins: set[str]) -> str:
    pin = min(pins)
    return pin[1:].replace("_", ".") if pin.startswith("v") else pin[1:]
