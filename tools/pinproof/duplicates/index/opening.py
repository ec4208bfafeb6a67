"""The index file: where it lies, its tables, one writer at a time, damage set aside."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pinproof.console import note
from pinproof.duplicates.index.store import Index
from pinproof.errors import InputError
from pinproof.paths import cache_dir, file_lock

SCHEMA = 2
"""Raised with every change of the tables or of what is stored in them; an older file is not read."""

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_TABLES = """
CREATE TABLE pull (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, draft INTEGER NOT NULL, base TEXT NOT NULL,
    title TEXT NOT NULL, author TEXT NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL, closed TEXT, head TEXT,
    merge TEXT, files_total INTEGER, files_seen INTEGER NOT NULL, told BLOB NOT NULL
);
CREATE INDEX pull_updated ON pull (state, updated);
CREATE TABLE path (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE pull_path (path INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (path, number)) WITHOUT ROWID;
CREATE INDEX pull_path_number ON pull_path (number);
CREATE TABLE pull_issue (issue INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (issue, number)) WITHOUT ROWID;
CREATE INDEX pull_issue_number ON pull_issue (number);
CREATE TABLE undone (target TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (target, number)) WITHOUT ROWID;
CREATE INDEX undone_number ON undone (number);
CREATE TABLE diff (number INTEGER PRIMARY KEY, head TEXT NOT NULL, change TEXT, facts BLOB NOT NULL);
CREATE INDEX diff_change ON diff (change);
CREATE TABLE line (line INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (line, number)) WITHOUT ROWID;
CREATE TABLE walk (name TEXT PRIMARY KEY, state BLOB NOT NULL);
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE VIRTUAL TABLE text USING fts5 (title, body, code, tokenize = "unicode61 tokenchars '_'", detail = full);
CREATE VIRTUAL TABLE term USING fts5vocab (text, row);
"""  # noqa: E501


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
