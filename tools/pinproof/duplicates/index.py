"""The local index of a repository's pull requests: SQLite with FTS5, one file per repository."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from pinproof.console import note
from pinproof.duplicates import tokens
from pinproof.duplicates.diffs import DiffFacts
from pinproof.duplicates.pulls import Pull
from pinproof.errors import InputError
from pinproof.paths import cache_dir, file_lock

SCHEMA = 1
"""Raised with every change of the tables or of what is stored in them; an older file is not read."""

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_TABLES = """
CREATE TABLE pull (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, title TEXT NOT NULL,
    author TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, closed TEXT,
    head TEXT, files_total INTEGER, files_seen INTEGER NOT NULL, closes TEXT NOT NULL, mentions TEXT NOT NULL
);
CREATE INDEX pull_updated ON pull (state, updated);
CREATE TABLE path (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE pull_path (path INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (path, number)) WITHOUT ROWID;
CREATE INDEX pull_path_number ON pull_path (number);
CREATE TABLE pull_issue (issue INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (issue, number)) WITHOUT ROWID;
CREATE INDEX pull_issue_number ON pull_issue (number);
CREATE TABLE diff (number INTEGER PRIMARY KEY, head TEXT NOT NULL, facts BLOB NOT NULL);
CREATE TABLE walk (name TEXT PRIMARY KEY, state BLOB NOT NULL);
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE VIRTUAL TABLE text USING fts5 (title, body, code, tokenize = "unicode61 tokenchars '_'", detail = full);
CREATE VIRTUAL TABLE term USING fts5vocab (text, row);
"""  # noqa: E501


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
        db.execute(
            "INSERT OR REPLACE INTO pull VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, pull.kind, pull.state, pull.title, pull.author, pull.created, pull.updated, pull.closed,
             pull.head, pull.files_total, len(pull.files), _numbers(pull.closes), _numbers(pull.mentions)),
        )  # fmt: skip
        db.execute("DELETE FROM pull_path WHERE number = ?", (number,))
        db.executemany("INSERT OR IGNORE INTO path (path) VALUES (?)", [(path,) for path in pull.files])
        db.executemany(
            "INSERT OR IGNORE INTO pull_path SELECT id, ? FROM path WHERE path = ?",
            [(number, path) for path in pull.files],
        )
        db.execute("DELETE FROM pull_issue WHERE number = ?", (number,))
        db.executemany(
            "INSERT OR IGNORE INTO pull_issue VALUES (?, ?)", [(issue, number) for issue in pull.mentions]
        )
        db.execute("DELETE FROM text WHERE rowid = ?", (number,))
        db.execute(
            "INSERT INTO text (rowid, title, body, code) VALUES (?, ?, ?, ?)",
            (number, " ".join(tokens.parts(tokens.strip_tags(pull.title))),
             " ".join(tokens.words(pull.body)), " ".join(sorted(pull.code))),
        )  # fmt: skip

    def _with_known_files(self, pull: Pull) -> Pull:
        """A list without files (anonymous scans) does not wipe the files known for the same commit."""
        if pull.files_total is not None or pull.kind != "pr":
            return pull
        known = self.db.execute(
            "SELECT head, files_total FROM pull WHERE number = ?", (pull.number,)
        ).fetchone()
        if known is None or known[0] != pull.head or known[1] is None:
            return pull
        return msgspec.structs.replace(pull, files=tuple(self.files(pull.number)), files_total=known[1])

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

    def diff(self, number: int) -> DiffFacts | None:
        """The facts of a pull request's diff, if they are of its present commit."""
        row = self.db.execute(
            "SELECT facts FROM diff JOIN pull USING (number) WHERE number = ? AND diff.head = pull.head",
            (number,),
        ).fetchone()
        return msgspec.msgpack.decode(row[0], type=DiffFacts) if row else None

    def store_diff(self, number: int, head: str, facts: DiffFacts, files: Iterable[str]) -> None:
        """Keep the facts of a diff, and its file list when none was known."""
        with self.db:
            self.db.execute(
                "INSERT OR REPLACE INTO diff VALUES (?, ?, ?)", (number, head, msgspec.msgpack.encode(facts))
            )
            for path in files:
                self.db.execute("INSERT OR IGNORE INTO path (path) VALUES (?)", (path,))
                self.db.execute(
                    "INSERT OR IGNORE INTO pull_path SELECT id, ? FROM path WHERE path = ?", (number, path)
                )

    def fact(self, name: str) -> str | None:
        """A remembered value, such as when the last scan ended."""
        row = self.db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def remember(self, name: str, value: str) -> None:
        """Keep a value under a name."""
        with self.db:
            self.db.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))


def _numbers(numbers: Iterable[int]) -> str:
    return " ".join(map(str, sorted(numbers)))


def check_repo(repo: str) -> str:
    """`repo` if it is an owner/name that GitHub could have.

    Raises:
        InputError: it is not; it would become a file name and a part of addresses.
    """
    if not _REPO.fullmatch(repo) or repo.endswith(("/.", "/..")):
        raise InputError(f"{repo!r} is not a repository", hint="write it as owner/name: vllm-project/vllm")
    return repo


def index_path(repo: str, api: str) -> Path:
    """Where the index of a repository lies in the user's cache folder."""
    host = urlsplit(api).netloc
    prefix = "" if host == "api.github.com" else re.sub(r"[^A-Za-z0-9.-]", "_", host) + "--"
    return cache_dir("duplicates") / f"{prefix}{check_repo(repo).lower().replace('/', '--')}.v{SCHEMA}.sqlite"


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Be the one run that brings this index up to date; a second run waits for the first."""
    with file_lock(path.with_suffix(".lock"), wait_s=1800, busy="another scan is filling this index"):
        yield


def open_index(path: Path) -> Index:
    """Open the index, made on demand; a damaged file is set aside and filled anew."""
    try:
        return _open(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise InputError(f"cannot open the index {path}: {error}") from error
        note(f"the index {path} is damaged ({error}); it is made anew")
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.replace(path.with_suffix(".damaged"))
        return _open(path)


def _open(path: Path) -> Index:
    db = sqlite3.connect(path, timeout=30)
    db.execute("PRAGMA journal_mode = WAL")
    # A page that a power cut takes back is fetched again; only a torn file would be bad, and WAL has none.
    db.execute("PRAGMA synchronous = NORMAL")
    if db.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
        _create(db)
    return Index(db, path)


def _create(db: sqlite3.Connection) -> None:
    """Make the tables in one transaction; of two first runs, the second finds them made."""
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
            for statement in _TABLES.split(";\n"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {SCHEMA}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
