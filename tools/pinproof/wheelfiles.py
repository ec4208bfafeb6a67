"""Single files out of a wheel on the package index: range requests, neighbours read together, cached."""

from __future__ import annotations

import contextlib
import io
import re
import sqlite3
import struct
import weakref
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pinproof.errors import CannotCheck, InputError
from pinproof.index.trouble import OFFLINE_HINT, TIMEOUT_S, trouble
from pinproof.paths import cache_dir
from pinproof.progress import progress
from pinproof.wheelrecord import LARGEST, check_member, hashes, record_name
from pinproof.wholewheel import is_asked_for, verified_wheel

if TYPE_CHECKING:
    import requests
    from remotezip import RemoteZip

_WHOLE_HINT = "bring the whole wheel (pip download --no-deps NAME==VERSION -d DIR) and add --find-links DIR"
# For the directory at a wheel's end: 0.3 MB in vLLM 0.33.0.
_OPENING_S = 120.0
# A gap that costs less to download than a further request costs in latency (about 10 ms at 10 MB/s).
_GAP = 128 * 1024
_LONGEST_RANGE = 8 * 1024 * 1024
# No source file of a kernel library comes near this; a member that claims more is a zip bomb.
_LARGEST_MEMBER = 64 * 1024 * 1024
# What zipfile and remotezip raise on a directory or headers that make no sense.
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, KeyError, NotImplementedError, EOFError)
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_TABLES = """
create table if not exists listing (path text primary key) without rowid;
create table if not exists member (path text primary key, data blob not null);
create table if not exists verified (record blob not null);
"""


class Remote(Protocol):
    """What is needed to find a wheel and know its bytes (releases.Distribution has it)."""

    @property
    def filename(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def sha256(self) -> str: ...


class WheelFiles:
    """The files of one wheel, as pinproof.tree.Files.

    What was read is kept in one SQLite file per wheel, named by the wheel's sha256 so that a
    re-upload can never mix with it; SQLite keeps it whole under kill -9 and two runs at once.

    Before a member is kept, its CRC is checked, its hash in the wheel's RECORD, and for METADATA the
    hash that the index gives (PEP 658). RECORD comes from the same server: that the server sends the
    wheel that the index means is proven by verify() alone, which reads the wheel whole.
    """

    def __init__(self, wheel: Remote) -> None:
        if not re.fullmatch(r"[0-9a-f]{64}", wheel.sha256):
            raise CannotCheck(f"the package index gives no sha256 for {wheel.filename}")
        self.filename = wheel.filename
        self.url = wheel.url
        self.sha256 = wheel.sha256
        self._path: Path = cache_dir("wheels") / f"{wheel.sha256}.sqlite"
        self._db: sqlite3.Connection | None = None
        self._zip: RemoteZip | None = None
        self._session: requests.Session | None = None
        self._names: frozenset[str] | None = None
        self._metadata_sha256: str | None = getattr(wheel, "metadata_sha256", None)
        self._record: dict[str, str] | None = None
        self._whole: bool | None = None

    def read(self, path: str) -> bytes | None:
        """One member's bytes; a range request when it is not cached yet.

        Raises:
            CannotCheck: it is not cached and the network fails, or the cache is damaged.
            InputError: the wheel is damaged.
        """
        if path not in self._listing():
            return None
        if (data := self._kept(path)) is None:
            self.prefetch([path])
            data = self._kept(path)
        return data

    def _kept(self, path: str) -> bytes | None:
        with self._cache() as db:
            row = db.execute("select data from member where path = ?", (path,)).fetchone()
            return None if row is None else zlib.decompress(row[0])

    def paths(self, under: str = "", suffix: str = "") -> Iterator[str]:
        """The members below `under` whose names end with `suffix`, sorted."""
        prefix = under.rstrip("/") + "/" if under else ""
        yield from sorted(n for n in self._listing() if n.startswith(prefix) and n.endswith(suffix))

    def prefetch(self, paths: Iterable[str]) -> None:
        """Bring these members into the cache with as few requests as their places in the wheel allow.

        Raises:
            InputError: a member is larger than any source file.
            CannotCheck: the network fails; what already arrived is kept.
        """
        with self._cache() as db:
            have = {path for (path,) in db.execute("select path from member")}
        wanted = [path for path in dict.fromkeys(paths) if path not in have and path in self._listing()]
        if not wanted:
            return
        with self._network():
            infos = [self._open().getinfo(path) for path in wanted]
        for info in infos:
            claims = max(info.file_size, info.compress_size)
            if claims > _LARGEST_MEMBER:
                raise InputError(f"{self.filename}: {info.filename} claims {claims} bytes; not read")
        self._stated()
        runs = _runs(sorted(infos, key=lambda info: info.header_offset))
        with progress(f"reading {self.filename}", sum(run[1] - run[0] for run in runs), unit="bytes") as bar:
            for start, stop, members in runs:
                with self._network():
                    data = self._range(start, stop)
                rows = [(i.filename, _member(data, i, start, self.filename)) for i in members]
                for name, content in rows:
                    self._check(name, content)
                with self._cache() as db, db:
                    db.executemany(
                        "insert or ignore into member values (?, ?)",
                        [(name, zlib.compress(content, 1)) for name, content in rows],
                    )
                bar.advance(stop - start)

    def verify(self) -> None:
        """Read the wheel whole, once, and hold it and all that is kept of it against the index's hash.

        Raises:
            InputError: it is another wheel, or something that was read before is not in it: it is forgotten.
            CannotCheck: the network fails.
        """
        from pinproof.index.session import IndexSession

        with (
            self._network(),
            IndexSession() as session,  # the one for ranges hangs up on whole files
            verified_wheel(session, self.url, self.filename, self.sha256) as wheel,
        ):
            names = [name for name in wheel.namelist() if not name.endswith("/")]
            record = record_name(names)
            with wheel.open(record) if record else io.BytesIO() as stream:
                stated = stream.read(LARGEST + 1)
        with self._cache() as db, db:
            db.execute("delete from listing")
            db.executemany("insert or ignore into listing values (?)", [(name,) for name in names])
        self._names, self._record, self._whole = frozenset(names), hashes(stated, self.filename), True
        self._check_kept()
        with self._cache() as db, db:
            db.execute("insert into verified values (?)", (stated,))

    def _check_kept(self) -> None:
        with self._cache() as db:
            kept = db.execute("select path, data from member").fetchall()
        for path, data in kept:
            try:
                self._check(path, zlib.decompress(data))
            except InputError:
                with self._cache() as db, db:
                    db.execute("delete from member")
                raise

    def _check(self, name: str, content: bytes) -> None:
        """Hold a member against what is known of it."""
        if name != record_name([name]):
            check_member(name, content, self._stated(), self.filename, whole=bool(self._whole))
        if self._metadata_sha256 and name.endswith(".dist-info/METADATA") and name.count("/") == 1:
            wanted = {name: self._metadata_sha256}
            check_member(name, content, wanted, f"{self.filename}, by the index", whole=False)

    def _stated(self) -> dict[str, str]:
        """The members' hashes by RECORD: the one of the verified wheel where there is one."""
        if self._record is None:
            record = record_name(self._listing())
            self._record = {}  # so that RECORD itself is read
            self._record = hashes((self.read(record) if record else None) or b"", self.filename)
        return self._record

    def _ensure_verified(self) -> None:
        """Take up that the wheel was verified; verify it where that is asked for."""
        if self._whole is None:
            with self._cache() as db:
                row = db.execute("select record from verified").fetchone()
            self._whole = row is not None
            if row is not None:
                self._record = hashes(row[0], self.filename)
            elif is_asked_for():
                self.verify()

    def _listing(self) -> frozenset[str]:
        self._ensure_verified()
        if self._names is None:
            with self._cache() as db:
                names = [path for (path,) in db.execute("select path from listing")]
            if not names:
                with self._network():
                    names = [n for n in self._open().namelist() if not n.endswith("/")]
                with self._cache() as db, db:
                    db.executemany("insert or ignore into listing values (?)", [(n,) for n in names])
            self._names = frozenset(names)
        return self._names

    def _database(self) -> sqlite3.Connection:
        if self._db is None:
            # Used by one thread at a time; the collector may close it in another.
            self._db = sqlite3.connect(self._path, timeout=30, check_same_thread=False)
            weakref.finalize(self, self._db.close)
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=normal")
            self._db.executescript(_TABLES)
        return self._db

    def _open(self) -> RemoteZip:
        if self._zip is None:
            from remotezip import RemoteZip

            from pinproof.index.bounds import deadline

            with deadline(_OPENING_S, self.filename):
                self._zip = RemoteZip(self.url, session=self._connection(), timeout=TIMEOUT_S)
            weakref.finalize(self, self._zip.close)
        return self._zip

    def _connection(self) -> requests.Session:
        """One connection for all requests to this wheel's server."""
        if self._session is None:
            from pinproof.index.session import IndexSession

            self._session = IndexSession()
            self._session.hooks["response"].append(_close_unwanted)
            weakref.finalize(self, self._session.close)
        return self._session

    def _range(self, start: int, stop: int) -> bytes:
        wanted = {"Range": f"bytes={start}-{stop - 1}"}
        # Streamed: a server that ignores the range would send the whole wheel, 300 MB and more.
        with self._connection().get(self.url, headers=wanted, timeout=TIMEOUT_S, stream=True) as reply:
            reply.raise_for_status()
            length = reply.headers.get("Content-Length", "")
            if reply.status_code != 206 or not length.isdecimal() or int(length) > stop - start:
                raise CannotCheck(
                    f"the server of {self.filename} does not answer range requests", hint=_WHOLE_HINT
                )
            from pinproof.index.bounds import deadline, keep_body, time_for

            with deadline(time_for(stop - start), self.filename):
                return keep_body(reply, stop - start)

    @contextlib.contextmanager
    def _cache(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._database()
        except (sqlite3.Error, zlib.error) as error:
            raise CannotCheck(
                f"the cache of {self.filename} cannot be used: {error}", hint=f"delete {self._path}"
            ) from error

    @contextlib.contextmanager
    def _network(self) -> Iterator[None]:
        import requests
        from remotezip import RangeNotSupported, RemoteZipError

        try:
            yield
        except (requests.RequestException, RemoteZipError, *_DAMAGED) as error:
            hint = _WHOLE_HINT if isinstance(error, RangeNotSupported) else OFFLINE_HINT
            raise trouble(self.filename, error, account="cannot read", hint=hint) from error


def _close_unwanted(reply: requests.Response, **_: object) -> None:
    """Hang up on a reply that is not a range: remotezip would leave an error, or a whole wheel, open."""
    if reply.status_code == 200 or reply.status_code >= 400:
        reply.close()


def _runs(infos: list[zipfile.ZipInfo]) -> list[tuple[int, int, list[zipfile.ZipInfo]]]:
    """Members in file order, grouped into byte ranges that skip only small gaps."""
    runs: list[tuple[int, int, list[zipfile.ZipInfo]]] = []
    for info in infos:
        # The local header repeats the name and has an extra field of its own length: leave room.
        stop = (
            info.header_offset + _LOCAL_HEADER.size + len(info.orig_filename) * 4 + 512 + info.compress_size
        )
        if runs and info.header_offset - runs[-1][1] < _GAP and stop - runs[-1][0] < _LONGEST_RANGE:
            start, _, members = runs.pop()
            runs.append((start, stop, [*members, info]))
        else:
            runs.append((info.header_offset, stop, [info]))
    return runs


def _member(data: bytes, info: zipfile.ZipInfo, start: int, wheel: str) -> bytes:
    """One member out of a range of the zip that begins at `start` (APPNOTE.TXT 4.3.7, local header)."""
    at = info.header_offset - start
    if len(data) < at + _LOCAL_HEADER.size:
        raise InputError(f"{wheel}: {info.filename} is cut short")
    fields = _LOCAL_HEADER.unpack_from(data, at)
    body = at + _LOCAL_HEADER.size + fields[9] + fields[10]
    packed = data[body : body + info.compress_size]
    if info.compress_type == zipfile.ZIP_DEFLATED:
        try:
            content = zlib.decompressobj(-15).decompress(packed, info.file_size + 1)
        except zlib.error:
            content = b""
    else:
        content = packed
    if fields[0] != b"PK\x03\x04" or len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise InputError(f"{wheel}: {info.filename} is damaged (size or CRC does not match)")
    return content
