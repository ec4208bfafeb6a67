"""What ranking asks of the index: how often things occur, who shares them, and the facts of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from pinproof.duplicates.diffs import DiffFacts
from pinproof.duplicates.index.store import Index, Told

# SQLite takes some hundred parameters in one statement.
_PARAMETERS = 500
# bm25() weights of the columns title, body, code
_WEIGHTS = "3.0, 1.0, 2.0"
_SAME_PATH = "path = (SELECT id FROM path WHERE path.path = ?)"

Item = TypeVar("Item", int, str)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request or issue as the index keeps it; `undone_by` is a merged one that reverts it."""

    number: int
    kind: str
    state: str
    draft: bool
    base: str
    title: str
    author: str
    created: str
    updated: str
    closed: str | None
    head: str | None
    files_total: int | None
    files: frozenset[str]
    told: Told
    diff: DiffFacts | None
    undone_by: int | None


def total(index: Index) -> int:
    """How many pull requests and issues there are."""
    return int(index.db.execute("SELECT count(*) FROM pull").fetchone()[0])


def terms(index: Index, names: Iterable[str]) -> dict[str, int]:
    """On how many pull requests each word or code name occurs, those that occur at all."""
    return _counts(index, "SELECT term, doc FROM term WHERE term IN ({})", sorted(set(names)))


def lines(index: Index, asked: Iterable[int]) -> dict[int, int]:
    """In how many diffs each line occurs, those that occur at all."""
    return _counts(
        index, "SELECT line, count(*) FROM line WHERE line IN ({}) GROUP BY line", sorted(set(asked))
    )


def _counts(index: Index, query: str, asked: Sequence[Item]) -> dict[Item, int]:
    found: dict[Item, int] = {}
    for chunk in _chunks(asked):
        found.update(index.db.execute(query.format(_marks(chunk)), chunk).fetchall())
    return found


def touching(index: Index, path: str) -> int:
    """How many pull requests touch a file."""
    query = f"SELECT count(*) FROM pull_path WHERE {_SAME_PATH}"  # noqa: S608
    return int(index.db.execute(query, (path,)).fetchone()[0])


def naming(index: Index, issue: int) -> int:
    """How many pull requests name an issue."""
    return int(index.db.execute("SELECT count(*) FROM pull_issue WHERE issue = ?", (issue,)).fetchone()[0])


def matching(index: Index, phrases: Iterable[str], most: int) -> list[tuple[int, float]]:
    """Those that hold any of the phrases, with their BM25, best first."""
    query = " OR ".join('"' + phrase.replace('"', " ") + '"' for phrase in phrases)
    if not query:
        return []
    return index.db.execute(
        f"SELECT rowid, -bm25(text, {_WEIGHTS}) AS score FROM text WHERE text MATCH ? "  # noqa: S608
        "ORDER BY score DESC LIMIT ?", (query, most),
    ).fetchall()  # fmt: skip


def with_name(index: Index, name: str) -> Iterator[int]:
    """Those whose text or code names hold a name."""
    found = index.db.execute("SELECT rowid FROM text WHERE text MATCH ?", (f'"{name}"',))
    return (row[0] for row in found)


def with_file(index: Index, path: str, most: int) -> Iterator[int]:
    """The latest ones that touch a file."""
    query = f"SELECT number FROM pull_path WHERE {_SAME_PATH} ORDER BY number DESC LIMIT ?"  # noqa: S608
    return (row[0] for row in index.db.execute(query, (path, most)))


def with_issue(index: Index, issue: int) -> Iterator[int]:
    """Those that name an issue."""
    found = index.db.execute("SELECT number FROM pull_issue WHERE issue = ? LIMIT 200", (issue,))
    return (row[0] for row in found)


def with_change(index: Index, change: str | None) -> Iterator[int]:
    """Those that change the same lines of the same files."""
    return (row[0] for row in index.db.execute("SELECT number FROM diff WHERE change = ?", (change,)))


def with_lines(index: Index, asked: Iterable[int]) -> dict[int, set[int]]:
    """Those that change any of these lines, and which of them."""
    found: dict[int, set[int]] = {}
    for chunk in _chunks(sorted(asked)):
        query = f"SELECT number, line FROM line WHERE line IN ({_marks(chunk)})"  # noqa: S608
        for number, line in index.db.execute(query, chunk):
            found.setdefault(number, set()).add(line)
    return found


def rows(index: Index, numbers: Iterable[int]) -> Iterator[Row]:
    """The facts of pull requests and issues by number."""
    for chunk in _chunks(sorted(set(numbers))):
        files, undone = _files(index, chunk), _undone(index, chunk)
        query = (
            "SELECT number, kind, state, draft, base, title, author, created, updated, closed, pull.head, "  # noqa: S608
            "files_total, told, facts FROM pull LEFT JOIN diff USING (number, head) "
            f"WHERE number IN ({_marks(chunk)})"
        )
        for found in index.db.execute(query, chunk):
            yield _row(found, files.get(found[0], frozenset()), undone.get(found[0]))


def _undone(index: Index, chunk: Sequence[int]) -> dict[int, int]:
    """Which of these a merged pull request reverts, by its number or by the commit that merged it."""
    query = f"SELECT merge, number FROM pull WHERE merge IS NOT NULL AND number IN ({_marks(chunk)})"  # noqa: S608
    targets: dict[str, int] = {f"#{number}": number for number in chunk}
    targets.update(index.db.execute(query, chunk))
    found: dict[int, int] = {}
    for part in _chunks(sorted(targets)):
        query = (
            "SELECT target, undone.number FROM undone CROSS JOIN pull ON pull.number = undone.number "  # noqa: S608
            f"WHERE target IN ({_marks(part)}) AND state = 'merged' "
            "AND '#' || undone.number NOT IN (SELECT target FROM undone)"
        )
        found.update({targets[target]: by for target, by in index.db.execute(query, part)})
    return found


def _files(index: Index, chunk: Sequence[int]) -> dict[int, frozenset[str]]:
    files: dict[int, set[str]] = {}
    query = (
        "SELECT number, path.path FROM pull_path JOIN path ON path.id = pull_path.path "  # noqa: S608
        f"WHERE number IN ({_marks(chunk)})"
    )
    for number, path in index.db.execute(query, chunk):
        files.setdefault(number, set()).add(path)
    return {number: frozenset(paths) for number, paths in files.items()}


def _row(found: tuple[Any, ...], files: frozenset[str], undone_by: int | None) -> Row:
    (number, kind, state, draft, base, title, author, created, updated, closed, head, files_total, told,
     facts) = found  # fmt: skip
    return Row(
        number=number, kind=kind, state=state, draft=bool(draft), base=base, title=title, author=author,
        created=created, updated=updated, closed=closed, head=head, files_total=files_total, files=files,
        told=msgspec.msgpack.decode(told, type=Told),
        diff=msgspec.msgpack.decode(facts, type=DiffFacts) if facts else None, undone_by=undone_by,
    )  # fmt: skip


def _chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for at in range(0, len(items), _PARAMETERS):
        yield items[at : at + _PARAMETERS]


def _marks(items: Sequence[object]) -> str:
    return ",".join("?" * len(items))
