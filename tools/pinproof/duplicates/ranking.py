"""How alike a patch and a pull request are: separate signals, each with its words, summed into one score."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from pinproof.duplicates.recall import Candidate, Rarity
from pinproof.duplicates.subject import Subject

# Points a signal can give. The order is that of real vLLM duplicates: the issue both fix says most,
# then shared code names and error messages, then the place; title words say little (their median
# overlap is a fifth).
WEIGHTS = {
    "change": 100.0,
    "lines": 100.0,
    "issue": 25.0,
    "names": 28.0,
    "error": 15.0,
    "files": 26.0,
    "place": 12.0,
    "pins": 22.0,
    "text": 10.0,
    "time": 12.0,
}
# Hunks of two patches on different bases drift apart by what others put above them.
_NEAR_LINES = 20
# A copy for another branch comes after one for the same.
_OTHER_BRANCH = 0.85
# Weights of shared lines (1 for a line that no other change has), and a share of the larger side.
_SUBSTANCE, _MUCH, _PLENTY, _ALIKE = 1.3, 4.0, 20.0, 0.3


class Signal(msgspec.Struct, frozen=True):
    """One reason to think two changes alike: its strength from 0 to 1, and what matched, in words."""

    name: str
    strength: float
    words: str


class Scored(msgspec.Struct, frozen=True):
    """A candidate with its signals; `score` is their weighted sum (see WEIGHTS)."""

    candidate: Candidate
    signals: dict[str, Signal]
    score: float

    def strength(self, name: str) -> float:
        """The strength of a signal, 0 when it is silent."""
        signal = self.signals.get(name)
        return signal.strength if signal else 0.0


def rank(subject: Subject, found: Iterable[Candidate], rare: Rarity) -> list[Scored]:
    """Candidates by score, best first; equal scores by number, the later first."""
    scored = [score(subject, candidate, rare) for candidate in found if candidate.number not in subject.own]
    return sorted(scored, key=lambda hit: (-hit.score, -hit.candidate.number))


def score(subject: Subject, candidate: Candidate, rare: Rarity) -> Scored:
    """All signals of one candidate."""
    signals: dict[str, Signal] = {}
    for name, measure in _MEASURES.items():
        strength, text = measure(subject, candidate, rare)
        if strength > 0:
            signals[name] = Signal(name, round(strength, 4), text)
    total = sum(WEIGHTS[name] * signal.strength for name, signal in signals.items())
    if other_branch(subject, candidate):
        total *= _OTHER_BRANCH
    return Scored(candidate, signals, round(total, 3))


def other_branch(subject: Subject, candidate: Candidate) -> bool:
    """Whether both are known to be meant for different branches."""
    return bool(subject.base and candidate.base) and subject.base != candidate.base


Measured = tuple[float, str]


def _change(subject: Subject, candidate: Candidate, _rare: Rarity) -> Measured:
    """The same lines changed the same way, or one side within the other."""
    if candidate.diff is None:
        return 0.0, ""
    if subject.diff.change_id and subject.diff.change_id == candidate.diff.change_id:
        return 1.0, "changes the same lines in the same way"
    shared = candidate.overlap
    if shared.of_smaller >= 0.8 and _no_chance(subject, candidate):
        if shared.of_ours >= shared.of_theirs:
            return 0.9 * shared.of_ours, f"holds {shared.of_ours:.0%} of the patch's changed lines"
        return 0.9 * shared.of_theirs, f"the patch holds {shared.of_theirs:.0%} of its changed lines"
    if _same_swap(subject, candidate):
        swap = ", ".join(sorted(subject.diff.added)[:3])
        return 0.8, f"puts the same names in place of the same others ({swap})"
    return 0.0, ""


def _no_chance(subject: Subject, candidate: Candidate) -> bool:
    """Whether it says something that one side lies within the other.

    A few lines lie within a change of a thousand by chance, and a larger change in other files is one of
    many that do a thing the same way.
    """
    shared = candidate.overlap
    if shared.weight < _SUBSTANCE:
        return False
    if shared.of_larger >= _ALIKE:
        return True
    return shared.weight >= _MUCH and bool(candidate.files & set(subject.files))


def _lines(_subject: Subject, candidate: Candidate, _rare: Rarity) -> Measured:
    """Shared changed lines by rarity, as a share of both sides'."""
    shared = candidate.overlap
    if shared.of_smaller < 0.01:
        return 0.0, ""
    told = f"shares {shared.of_ours:.0%} of the patch's changed lines, {shared.of_theirs:.0%} of its own"
    # A part that was taken out of a large change is most of the smaller side and little of the larger.
    part = 0.5 * shared.of_smaller if shared.weight >= _PLENTY else 0.0
    return _saturated(max(shared.of_both, part), 0.15), told


def _same_swap(subject: Subject, candidate: Candidate) -> bool:
    """Both take out exactly the same names and put in exactly the same, in a file that both touch."""
    ours, theirs = subject.diff, candidate.diff
    if theirs is None or not (ours.removed and ours.added) or not candidate.files & set(subject.files):
        return False
    return ours.removed == theirs.removed and ours.added == theirs.added


def _issue(subject: Subject, candidate: Candidate, rare: Rarity) -> Measured:
    """A shared issue number, more when both say that they fix it."""
    if candidate.number in subject.mentions:
        return 0.5, "the patch's text names it"
    both = subject.closes & candidate.closes
    if both:
        number = max(both, key=rare.issue)
        return max(rare.issue(number), 0.5), f"fixes the same issue #{number}"
    shared = (subject.mentions & candidate.mentions) or (subject.closes & candidate.mentions)
    if shared:
        number = max(shared, key=rare.issue)
        return 0.6 * rare.issue(number), f"names the same #{number}"
    return 0.0, ""


def _names(subject: Subject, candidate: Candidate, rare: Rarity) -> Measured:
    """Shared code names, each weighed by its part in the change and by its rarity."""
    changed, mentioned = _names_of(candidate)
    total = 0.0
    told: list[tuple[float, str]] = []
    for name, weight in subject.names.items():
        part = min(0.4 * (name in changed) + 0.8 * (name in mentioned), 1.0)
        gain = weight * part * rare.name(name) ** 2
        if gain:
            total += gain
            told.append((gain, name))
    best = [name for gain, name in sorted(told, reverse=True)[:4] if gain > 0.05]
    return _saturated(total, 1.6), "shares " + ", ".join(best) if best else "shares common names"


def _names_of(candidate: Candidate) -> tuple[set[str], frozenset[str]]:
    if candidate.diff is None:
        return set(), candidate.code
    scopes = {place.scope for place in candidate.diff.places}
    changed = candidate.diff.removed | candidate.diff.added | candidate.diff.kept | scopes
    return changed, candidate.code


def _error(_subject: Subject, candidate: Candidate, _rare: Rarity) -> Measured:
    """The error message that the patch cures, word for word."""
    return (1.0, f"quotes the same error ({candidate.error})") if candidate.error else (0.0, "")


def _files(subject: Subject, candidate: Candidate, rare: Rarity) -> Measured:
    """Shared files by rarity, more when the two touch just the same; tests follow code and count half."""
    ours = set(subject.files)
    shared = [path for path in subject.files if path in candidate.files]
    if not shared:
        return 0.0, ""
    alike = _breadth(shared) / _breadth(ours | candidate.files)
    total = sum(_share(path) * rare.file(path) ** 2 for path in shared)
    told = ", ".join(shared[:2]) + (f" and {len(shared) - 2} more" if len(shared) > 2 else "")
    return _saturated(total, 0.5) * (0.4 + 0.6 * alike), f"touches {told}"


def _breadth(paths: Iterable[str]) -> float:
    return sum(map(_share, paths))


def _share(path: str) -> float:
    return 0.5 if is_test(path) else 1.0


def is_test(path: str) -> bool:
    """Whether a file is a test, by vLLM's layout."""
    return path.startswith("tests/") or "/tests/" in path


def _place(subject: Subject, candidate: Candidate, _rare: Rarity) -> Measured:
    """The same function or class, or lines close by, in the same file."""
    if candidate.diff is None:
        return 0.0, ""
    best: Measured = (0.0, "")
    for ours in subject.diff.places:
        for theirs in candidate.diff.places:
            if ours.path != theirs.path:
                continue
            gap = max(ours.first - theirs.last, theirs.first - ours.last, 0)
            strength = 0.6 * (1.0 - gap / _NEAR_LINES) if gap < _NEAR_LINES else 0.0
            text = f"changes the same place ({ours.path}:{ours.first})"
            if ours.scope and ours.scope == theirs.scope:
                strength, text = 0.7 + strength / 2, f"changes the same {ours.scope}"
            best = max(best, (strength, text))
    return best


def _pins(subject: Subject, candidate: Candidate, rare: Rarity) -> Measured:
    """The same version or commit, by rarity; in other files it is a coincidence or a user of the pin."""
    theirs = candidate.code | (candidate.diff.pins if candidate.diff else set())
    shared = sorted(subject.pins & theirs, key=rare.name, reverse=True)
    if not shared:
        return 0.0, ""
    near = 1.0 if candidate.files & set(subject.files) else 0.3
    return near * _saturated(sum(rare.name(pin) ** 2 for pin in shared), 0.6), f"names {_readable(shared[0])}"


def _readable(pin: str) -> str:
    return pin[1:].replace("_", ".") if pin.startswith("v") else f"commit {pin[1:]}"


def _text(subject: Subject, candidate: Candidate, rare: Rarity) -> Measured:
    """Words: half from the titles without tags, half from BM25 over title, body and code names."""
    ours = set(subject.title_parts)
    shared = ours & candidate.title_parts
    titles = _weight(shared, rare) / max(_weight(ours | candidate.title_parts, rare), 0.1)
    text = min(candidate.text * 4, 1.0)
    told = sorted(shared, key=lambda part: rare.terms.get(part, 1))[:3]
    return 0.5 * titles + 0.5 * text, "similar words" + (f" ({', '.join(told)})" if told else "")


def _weight(parts: Iterable[str], rare: Rarity) -> float:
    return sum(rare.of(rare.terms.get(part, 1)) for part in parts)


def _time(subject: Subject, candidate: Candidate, _rare: Rarity) -> Measured:
    """Most known duplicates were written within a day or two of each other; the rest at any distance."""
    days = abs((subject.date - candidate.created).total_seconds()) / 86_400
    return 1.0 / (1.0 + days / 3.0), f"{days:.0f} days apart"


def _saturated(amount: float, half: float) -> float:
    """0 for nothing, one half at `half`, near 1 for much: ten shared names are not ten times the proof."""
    return amount / (amount + half)


_MEASURES: dict[str, Callable[[Subject, Candidate, Rarity], Measured]] = {
    "change": _change, "lines": _lines, "issue": _issue, "names": _names, "error": _error, "files": _files,
    "place": _place, "pins": _pins, "text": _text, "time": _time,
}  # fmt: skip
