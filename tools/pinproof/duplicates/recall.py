"""From all pull requests in the index to the few hundred that could matter, with the facts to judge them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

import msgspec

from pinproof.duplicates.diffs import DiffFacts
from pinproof.duplicates.index import lookup
from pinproof.duplicates.index.store import Index
from pinproof.duplicates.subject import Subject
from pinproof.duplicates.tokens import words

_BY_TEXT = 300
_BY_RARE_NAME = 60
_BY_FILE = 150
_QUERY_TERMS = 48
# A line that more than so many changes have says where they are, not what they do.
_BY_RARE_LINE = 12


class Overlap(msgspec.Struct, frozen=True):
    """The changed lines that two diffs share, each weighed by its rarity (1 for a line seen nowhere else).

    `of_ours` and `of_theirs` are the shares that these make up of either side's lines, weighed alike.
    """

    weight: float = 0.0
    of_ours: float = 0.0
    of_theirs: float = 0.0

    @property
    def of_smaller(self) -> float:
        """The share of the smaller side."""
        return max(self.of_ours, self.of_theirs)

    @property
    def of_larger(self) -> float:
        """The share of the larger side."""
        return min(self.of_ours, self.of_theirs)

    @property
    def of_both(self) -> float:
        """The shares' geometric mean (Ochiai's coefficient): one line of three in a thousand is little."""
        return math.sqrt(self.of_ours * self.of_theirs)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request or issue of the index with what ranking compares."""

    number: int
    kind: str
    state: str
    draft: bool
    base: str
    title: str
    author: str
    created: datetime
    updated: str
    closed: str | None
    head: str | None
    files: frozenset[str]
    files_total: int | None
    closes: frozenset[int]
    mentions: frozenset[int]
    code: frozenset[str]
    title_parts: frozenset[str]
    text: float
    """BM25 of the patch's words on it, as a share of the best that they could reach; 0 to 1."""
    error: str | None
    """The error message of the patch that it quotes."""
    diff: DiffFacts | None
    overlap: Overlap
    undone_by: int | None
    """A merged pull request that reverts it."""


class Rarity(msgspec.Struct, frozen=True):
    """How much it says that two changes share a thing: 1 for a thing seen once, 0 for one seen everywhere."""

    total: int
    terms: dict[str, int]
    files: dict[str, int]
    issues: dict[int, int]
    lines: dict[int, int]
    diffs: int

    def of(self, seen: int) -> float:
        """The information of a thing seen in so many pull requests."""
        return _rarity(seen, self.total)

    def name(self, name: str) -> float:
        """The information of a code name (one that no title or body has is as rare as one seen once)."""
        return self.of(self.terms.get(name, 1))

    def file(self, path: str) -> float:
        """The information of a file."""
        return self.of(self.files.get(path, 1))

    def issue(self, number: int) -> float:
        """The information of an issue number: trackers and roadmaps are named everywhere."""
        return self.of(self.issues.get(number, 1))

    def line(self, line: int) -> float:
        """The information of a changed line, among the changes whose diffs are known."""
        return _rarity(self.lines.get(line, 1), self.diffs)


@lru_cache(maxsize=8192)
def _rarity(seen: int, total: int) -> float:
    """Inverse document frequency, scaled to 1 for what is seen once and 0 for what is seen everywhere."""
    total = max(total, 100)
    return max(0.0, math.log(total / max(seen, 1)) / math.log(total))


def rarity(index: Index, subject: Subject) -> Rarity:
    """How often the things of the patch occur in the index."""
    names = {*subject.names, *subject.words, *subject.title_parts, *subject.pins}
    return Rarity(
        total=lookup.total(index),
        terms=lookup.terms(index, names),
        files={path: lookup.touching(index, path) for path in subject.files},
        issues={number: lookup.naming(index, number) for number in subject.mentions},
        lines=lookup.lines(index, subject.diff.lines),
        diffs=index.diffs(),
    )


def candidates(index: Index, subject: Subject, rare: Rarity) -> list[Candidate]:
    """All that share an issue, a rare name, a file, a rare line, an error message or much text."""
    best = _best_text(subject, rare)
    text = dict(lookup.matching(index, best, _BY_TEXT))
    quoted = _quoting_errors(index, subject)
    shared = lookup.with_lines(index, (line for line in subject.diff.lines if rare.line(line) > _COMMON))
    numbers = set(text) | set(quoted) | set(_by_name(index, subject, rare)) | _by_line(shared, rare)
    numbers |= set(_by_file(index, subject)) | set(_by_issue(index, subject))
    numbers |= set(lookup.with_change(index, subject.diff.change_id))
    reachable = sum(2.2 * math.log(max(rare.total, 2) / max(rare.terms.get(term, 1), 1)) for term in best)
    shares = {number: min(score / reachable, 1.0) if reachable else 0.0 for number, score in text.items()}
    found = list(lookup.rows(index, numbers))
    overlaps = _overlaps(index, subject, found, shared, rare)
    return [_candidate(row, shares, quoted, overlaps) for row in found]


# Lines that a tenth of all changes have (`return`, an import of torch) are not worth the look.
_COMMON = 0.25


def _best_text(subject: Subject, rare: Rarity) -> list[str]:
    """The words of the patch that tell most: those on few pull requests."""
    common = max(rare.total / 5, 5)
    terms = {
        term for term in (*subject.words, *subject.title_parts, *subject.names)
        if 0 < rare.terms.get(term, 0) <= common and len(term) > 1
    }  # fmt: skip
    return sorted(terms, key=lambda term: (rare.terms[term], term))[:_QUERY_TERMS]


def _by_name(index: Index, subject: Subject, rare: Rarity) -> Iterable[int]:
    """Those that name a thing of the patch which few others name."""
    names = [name for name in (*subject.names, *subject.pins) if 0 < rare.terms.get(name, 0) <= _BY_RARE_NAME]
    for name in sorted(names, key=lambda name: rare.terms[name])[:_QUERY_TERMS]:
        yield from lookup.with_name(index, name)


def _by_file(index: Index, subject: Subject) -> Iterable[int]:
    """Those that touch a file of the patch; for a file that everybody touches, the latest."""
    for path in subject.files:
        yield from lookup.with_file(index, path, _BY_FILE * 4 if len(subject.files) < 4 else _BY_FILE)


def _by_line(shared: dict[int, set[int]], rare: Rarity) -> set[int]:
    """Those that share a line which few others have."""
    return {
        number for number, lines in shared.items()
        if any(rare.lines.get(line, 1) <= _BY_RARE_LINE for line in lines)
    }  # fmt: skip


def _by_issue(index: Index, subject: Subject) -> Iterable[int]:
    for number in subject.mentions:
        yield number
        yield from lookup.with_issue(index, number)


def _quoting_errors(index: Index, subject: Subject) -> dict[int, str]:
    """Those whose text holds an error message of the patch, word for word."""
    found: dict[int, str] = {}
    for name, message in subject.errors:
        phrase = words(message)[:8]
        if len(phrase) < 3:
            continue
        for number, _ in lookup.matching(index, [" ".join(phrase)], 100):
            found.setdefault(number, f"{name}: {message}")
    return found


def _overlaps(
    index: Index, subject: Subject, found: list[lookup.Row], shared: dict[int, set[int]], rare: Rarity
) -> dict[int, Overlap]:
    """The shared lines of each row that has some, weighed over all diffs in the index."""
    sharing = {row.number: row.diff.lines for row in found if row.diff and row.number in shared}
    rare.lines.update(lookup.lines(index, set().union(*sharing.values()) - rare.lines.keys()))
    ours = sum(map(rare.line, subject.diff.lines))
    overlaps: dict[int, Overlap] = {}
    for number, lines in sharing.items():
        weight = sum(map(rare.line, shared[number] & lines))
        theirs = sum(map(rare.line, lines))
        overlaps[number] = Overlap(weight, weight / max(ours, 1.0), weight / max(theirs, 1.0))
    return overlaps


def _candidate(
    row: lookup.Row, text: dict[int, float], quoted: dict[int, str], overlaps: dict[int, Overlap]
) -> Candidate:
    return Candidate(
        number=row.number, kind=row.kind, state=row.state, draft=row.draft, base=row.base, title=row.title,
        author=row.author, created=datetime.fromisoformat(row.created.replace("Z", "+00:00")),
        updated=row.updated, closed=row.closed, head=row.head, files=row.files, files_total=row.files_total,
        closes=row.told.closes, mentions=row.told.mentions, code=row.told.code,
        title_parts=row.told.title_parts, text=text.get(row.number, 0.0), error=quoted.get(row.number),
        diff=row.diff, overlap=overlaps.get(row.number, Overlap()), undone_by=row.undone_by,
    )  # fmt: skip
