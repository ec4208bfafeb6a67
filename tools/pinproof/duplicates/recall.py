"""From all pull requests in the index to the few hundred that could matter, with the facts to judge them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

import msgspec

from pinproof.duplicates.diffs import DiffFacts
from pinproof.duplicates.index import Index
from pinproof.duplicates.subject import Subject
from pinproof.duplicates.tokens import words

_BY_TEXT = 300
_BY_RARE_NAME = 60
_BY_FILE = 150
_QUERY_TERMS = 48
# bm25() weights of the columns title, body, code
_WEIGHTS = "3.0, 1.0, 2.0"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request or issue of the index with what ranking compares."""

    number: int
    kind: str
    state: str
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


class Rarity(msgspec.Struct, frozen=True):
    """How much it says that two changes share a thing: 1 for a thing seen once, 0 for one seen everywhere."""

    total: int
    terms: dict[str, int]
    files: dict[str, int]
    issues: dict[int, int]

    def of(self, seen: int) -> float:
        """The information of a thing seen in so many pull requests."""
        total = max(self.total, 100)
        return max(0.0, math.log(total / max(seen, 1)) / math.log(total))

    def name(self, name: str) -> float:
        """The information of a code name (one that no title or body has is as rare as one seen once)."""
        return self.of(self.terms.get(name, 1))

    def file(self, path: str) -> float:
        """The information of a file."""
        return self.of(self.files.get(path, 1))

    def issue(self, number: int) -> float:
        """The information of an issue number: trackers and roadmaps are named everywhere."""
        return self.of(self.issues.get(number, 1))


def rarity(index: Index, subject: Subject) -> Rarity:
    """How often the things of the patch occur in the index."""
    db = index.db
    names = sorted({*subject.names, *subject.words, *subject.title_parts, *subject.pins})
    terms: dict[str, int] = {}
    for chunk in _chunks(names):
        query = f"SELECT term, doc FROM term WHERE term IN ({_marks(chunk)})"  # noqa: S608
        terms.update(db.execute(query, chunk).fetchall())
    files = {
        path: db.execute(
            "SELECT count(*) FROM pull_path WHERE path = (SELECT id FROM path WHERE path.path = ?)", (path,)
        ).fetchone()[0]
        for path in subject.files
    }
    issues = {
        number: db.execute("SELECT count(*) FROM pull_issue WHERE issue = ?", (number,)).fetchone()[0]
        for number in subject.mentions
    }
    total = db.execute("SELECT count(*) FROM pull").fetchone()[0]
    return Rarity(total, terms, files, issues)


def candidates(index: Index, subject: Subject, rare: Rarity) -> list[Candidate]:
    """All pull requests that share an issue, a rare name, a file, an error message or much text."""
    best = _best_text(subject, rare)
    text = dict(_matching(index, _text_query(best), _BY_TEXT))
    quoted = _quoting_errors(index, subject)
    numbers = set(text) | set(quoted) | set(_by_name(index, subject, rare))
    numbers |= set(_by_file(index, subject)) | set(_by_issue(index, subject))
    reachable = sum(2.2 * math.log(max(rare.total, 2) / max(rare.terms.get(term, 1), 1)) for term in best)
    shares = {number: min(score / reachable, 1.0) if reachable else 0.0 for number, score in text.items()}
    return _load(index, numbers, shares, quoted)


def _best_text(subject: Subject, rare: Rarity) -> list[str]:
    """The words of the patch that tell most: those on few pull requests."""
    common = max(rare.total / 5, 5)
    terms = {
        term for term in (*subject.words, *subject.title_parts, *subject.names)
        if 0 < rare.terms.get(term, 0) <= common and len(term) > 1
    }  # fmt: skip
    return sorted(terms, key=lambda term: (rare.terms[term], term))[:_QUERY_TERMS]


def _text_query(terms: Iterable[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


def _matching(index: Index, query: str, most: int) -> list[tuple[int, float]]:
    """Rows of the full-text table with their BM25, best first; every term in `query` is quoted."""
    if not query:
        return []
    return index.db.execute(
        f"SELECT rowid, -bm25(text, {_WEIGHTS}) AS score FROM text WHERE text MATCH ? "  # noqa: S608
        "ORDER BY score DESC LIMIT ?", (query, most),
    ).fetchall()  # fmt: skip


def _by_name(index: Index, subject: Subject, rare: Rarity) -> Iterable[int]:
    """Those that name a thing of the patch which few others name."""
    names = [name for name in (*subject.names, *subject.pins) if 0 < rare.terms.get(name, 0) <= _BY_RARE_NAME]
    for name in sorted(names, key=lambda name: rare.terms[name])[:_QUERY_TERMS]:
        yield from (
            row[0] for row in index.db.execute("SELECT rowid FROM text WHERE text MATCH ?", (f'"{name}"',))
        )


def _by_file(index: Index, subject: Subject) -> Iterable[int]:
    """Those that touch a file of the patch; for a file that everybody touches, the latest."""
    for path in subject.files:
        yield from (
            row[0]
            for row in index.db.execute(
                "SELECT number FROM pull_path WHERE path = (SELECT id FROM path WHERE path.path = ?) "
                "ORDER BY number DESC LIMIT ?", (path, _BY_FILE * 4 if len(subject.files) < 4 else _BY_FILE),
            )
        )  # fmt: skip


def _by_issue(index: Index, subject: Subject) -> Iterable[int]:
    for number in subject.mentions:
        yield number
        yield from (
            row[0]
            for row in index.db.execute("SELECT number FROM pull_issue WHERE issue = ? LIMIT 200", (number,))
        )


def _quoting_errors(index: Index, subject: Subject) -> dict[int, str]:
    """Those whose text holds an error message of the patch, word for word."""
    found: dict[int, str] = {}
    for name, message in subject.errors:
        phrase = [word.replace('"', "") for word in words(message)][:8]
        if len(phrase) < 3:
            continue
        query = f'"{" ".join(phrase)}"'
        for number, _ in _matching(index, query, 100):
            found.setdefault(number, f"{name}: {message}")
    return found


def _load(
    index: Index, numbers: Iterable[int], text: dict[int, float], quoted: dict[int, str]
) -> list[Candidate]:
    found: list[Candidate] = []
    for chunk in _chunks(sorted(numbers)):
        files: dict[int, set[str]] = {}
        query = (
            "SELECT number, path.path FROM pull_path JOIN path ON path.id = pull_path.path "  # noqa: S608
            f"WHERE number IN ({_marks(chunk)})"
        )
        for number, path in index.db.execute(query, chunk):
            files.setdefault(number, set()).add(path)
        query = (
            "SELECT number, kind, state, pull.title, author, created, updated, closed, head, "  # noqa: S608
            "files_total, closes, mentions, text.title, text.code, diff.facts "
            "FROM pull JOIN text ON text.rowid = number "
            f"LEFT JOIN diff USING (number, head) WHERE number IN ({_marks(chunk)})"
        )
        for row in index.db.execute(query, chunk):
            found.append(_candidate(row, files.get(row[0], set()), text, quoted))
    return found


def _candidate(
    row: tuple[object, ...], files: set[str], text: dict[int, float], quoted: dict[int, str]
) -> Candidate:
    (number, kind, state, title, author, created, updated, closed, head, total, closes, mentions, title_words,
     code, facts) = row  # fmt: skip
    assert isinstance(number, int)
    return msgspec.convert(
        {
            "number": number, "kind": kind, "state": state, "title": title, "author": author,
            "created": created, "updated": updated, "closed": closed, "head": head, "files": files,
            "files_total": total, "closes": _numbers(closes), "mentions": _numbers(mentions),
            "code": str(code).split(), "title_parts": str(title_words).split(),
            "text": text.get(number, 0.0), "error": quoted.get(number),
            "diff": msgspec.msgpack.decode(facts, type=DiffFacts) if isinstance(facts, bytes) else None,
        },
        Candidate,
    )  # fmt: skip


def _numbers(text: object) -> frozenset[int]:
    return frozenset(map(int, str(text).split()))


def _chunks(items: list[int] | list[str]) -> Iterable[list[int] | list[str]]:
    """SQLite takes some hundred parameters in one statement."""
    for at in range(0, len(items), 500):
        yield items[at : at + 500]


def _marks(items: list[int] | list[str]) -> str:
    return ",".join("?" * len(items))
