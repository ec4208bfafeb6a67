"""Writing the index page by page, and the plain questions to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import msgspec

from pinproof.duplicates import tokens
from pinproof.duplicates.diffs import DiffFacts
from pinproof.duplicates.pulls import Pull

Waiting = tuple[int, str, str | None]
"""A pull request whose diff is to be read: its number, its last commit, the commit that merged it."""


class Told(msgspec.Struct, frozen=True):
    """What the words of a pull request tell: numbers it closes and names, code names, words of its title."""

    closes: frozenset[int]
    mentions: frozenset[int]
    code: frozenset[str]
    title_parts: frozenset[str]


class Index:
    """An open index. Writes happen page by page, each in one transaction; readers see whole pages."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.db = connection
        self.path = path

    def store(self, pulls: Iterable[Pull], walk: tuple[str, bytes] | None = None) -> None:
        """Add or replace pull requests; with them, in the same transaction, where a walk stands."""
        with self.db:
            for pull in pulls:
                self._store_one(pull)
            if walk:
                self.db.execute("INSERT OR REPLACE INTO walk VALUES (?, ?)", walk)

    def _store_one(self, pull: Pull) -> None:
        db, number = self.db, pull.number
        pull = self._with_known_files(pull)
        title_parts = tokens.parts(tokens.strip_tags(pull.title))
        told = Told(pull.closes, pull.mentions, pull.code, frozenset(title_parts))
        db.execute(
            "INSERT OR REPLACE INTO pull VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, pull.kind, pull.state, pull.draft, pull.base, pull.title, pull.author, pull.created,
             pull.updated, pull.closed, pull.head, pull.merge, pull.files_total, len(pull.files),
             msgspec.msgpack.encode(told)),
        )  # fmt: skip
        self._store_files(number, pull.files, replace=True)
        db.execute("DELETE FROM pull_issue WHERE number = ?", (number,))
        db.executemany(
            "INSERT OR IGNORE INTO pull_issue VALUES (?, ?)", [(issue, number) for issue in pull.mentions]
        )
        db.execute("DELETE FROM undone WHERE number = ?", (number,))
        db.executemany("INSERT INTO undone VALUES (?, ?)", [(target, number) for target in pull.undoes])
        db.execute("DELETE FROM text WHERE rowid = ?", (number,))
        db.execute(
            "INSERT INTO text (rowid, title, body, code) VALUES (?, ?, ?, ?)",
            (number, " ".join(title_parts), " ".join(tokens.words(pull.body)), " ".join(sorted(pull.code))),
        )

    def _store_files(self, number: int, files: Iterable[str], *, replace: bool) -> None:
        paths = [(path,) for path in files]
        if replace:
            self.db.execute("DELETE FROM pull_path WHERE number = ?", (number,))
        self.db.executemany("INSERT OR IGNORE INTO path (path) VALUES (?)", paths)
        self.db.executemany(
            "INSERT OR IGNORE INTO pull_path SELECT id, ? FROM path WHERE path = ?",
            [(number, path) for (path,) in paths],
        )

    def _with_known_files(self, pull: Pull) -> Pull:
        """A list without files (git tells them) does not wipe the files known for the same commit."""
        if pull.files_total is not None or pull.kind != "pr":
            return pull
        known = self.db.execute(
            "SELECT head, files_total FROM pull WHERE number = ?", (pull.number,)
        ).fetchone()
        if known is None or known[0] != pull.head or known[1] is None:
            return pull
        return msgspec.structs.replace(pull, files=tuple(self.files(pull.number)), files_total=known[1])

    def store_diff(self, number: int, head: str, facts: DiffFacts, files: Iterable[str]) -> None:
        """Keep the facts of a diff, and its files, which replace a shorter list."""
        files = list(files)
        lines = sorted(facts.lines)
        with self.db:
            self._drop_diff(number)
            row = (number, head, facts.change_id, msgspec.msgpack.encode(facts))
            self.db.execute("INSERT INTO diff VALUES (?, ?, ?, ?)", row)
            self.db.executemany("INSERT INTO line VALUES (?, ?)", [(line, number) for line in lines])
            self._store_files(number, files, replace=False)
            self.db.execute(
                "UPDATE pull SET files_total = ?1, files_seen = ?1 WHERE number = ?2 AND head = ?3 AND ?4",
                (len(files), number, head, facts.whole),
            )

    def _drop_diff(self, number: int) -> None:
        row = self.db.execute("SELECT facts FROM diff WHERE number = ?", (number,)).fetchone()
        if row is None:
            return
        old = msgspec.msgpack.decode(row[0], type=DiffFacts)
        self.db.executemany(
            "DELETE FROM line WHERE line = ? AND number = ?", [(line, number) for line in old.lines]
        )
        self.db.execute("DELETE FROM diff WHERE number = ?", (number,))

    def has(self, pull: Pull) -> bool:
        """Whether this state of a pull request is known; a search tells less of it than a list does."""
        row = self.db.execute("SELECT updated FROM pull WHERE number = ?", (pull.number,)).fetchone()
        return row is not None and row[0] >= pull.updated

    def walk(self, name: str) -> bytes | None:
        """The stored state of a walk."""
        row = self.db.execute("SELECT state FROM walk WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def files(self, number: int) -> list[str]:
        """The files of a pull request, as far as they were listed."""
        query = "SELECT path.path FROM pull_path JOIN path ON id = pull_path.path WHERE number = ? ORDER BY 1"
        return [row[0] for row in self.db.execute(query, (number,))]

    def count(self, kind: str = "pr", states: tuple[str, ...] = ("open",), since: str = "") -> int:
        """How many pull requests (or issues) in these states, updated since then, are in the index."""
        marks = ",".join("?" * len(states))
        query = f"SELECT count(*) FROM pull WHERE kind = ? AND state IN ({marks}) AND updated >= ?"  # noqa: S608
        return int(self.db.execute(query, (kind, *states, since)).fetchone()[0])

    def numbers(self, state: str) -> set[int]:
        """The pull requests in a state."""
        found = self.db.execute("SELECT number FROM pull WHERE kind = 'pr' AND state = ?", (state,))
        return {row[0] for row in found}

    def cut_file_lists(self) -> int:
        """How many pull requests have more files than were listed."""
        return int(self.db.execute("SELECT count(*) FROM pull WHERE files_total > files_seen").fetchone()[0])

    def head(self, number: int) -> tuple[bool, str | None]:
        """Whether a pull request is known, and its commit."""
        row = self.db.execute("SELECT head FROM pull WHERE number = ?", (number,)).fetchone()
        return row is not None, row[0] if row else None

    def waiting(self, number: int) -> Waiting | None:
        """What a pull request's diff is read by; None for one that is not known."""
        row: Waiting | None = self.db.execute(
            "SELECT number, head, merge FROM pull WHERE number = ? AND kind = 'pr'", (number,)
        ).fetchone()
        return row

    def without_diff(self, since: str) -> list[Waiting]:
        """The open ones, and those updated since then, whose present commit's diff is not known."""
        return self.db.execute(
            "SELECT number, pull.head, merge FROM pull LEFT JOIN diff USING (number) WHERE kind = 'pr' "
            "AND (state = 'open' OR updated >= ?) AND diff.head IS NOT pull.head ORDER BY number", (since,),
        ).fetchall()  # fmt: skip

    def diffs(self) -> int:
        """How many pull requests' diffs are known."""
        return int(self.db.execute("SELECT count(*) FROM diff").fetchone()[0])

    def diff(self, number: int) -> DiffFacts | None:
        """The facts of a pull request's diff, if they are of its present commit."""
        row = self.db.execute(
            "SELECT facts FROM diff JOIN pull USING (number) WHERE number = ? AND diff.head = pull.head",
            (number,),
        ).fetchone()
        return msgspec.msgpack.decode(row[0], type=DiffFacts) if row else None

    def fact(self, name: str) -> str | None:
        """A remembered value, such as when the last scan ended."""
        row = self.db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def remember(self, name: str, value: str) -> None:
        """Keep a value under a name."""
        with self.db:
            self.db.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    def close(self) -> None:
        """Close the file."""
        self.db.close()
