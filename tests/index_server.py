"""A package index on this machine: the JSON simple API, range requests, and every way they go wrong."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Served:
    """One file on the index.

    `sha256` is what the index says; `cut` closes the connection after so many body bytes; `ranges`
    False answers every request with the whole file; `status` is answered instead of the file.
    """

    content: bytes
    sha256: str | None = None
    cut: int | None = None
    ranges: bool = True
    status: int | None = None
    yanked: bool = False

    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest() if self.sha256 is None else self.sha256


@dataclass
class Index:
    """The files by project and name; `requests` lists what was asked for, `down` refuses everything,
    `hang` keeps whoever asks for a file waiting."""

    files: dict[str, dict[str, Served]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    down: bool = False
    hang: bool = False
    page_status: int | None = None
    page: bytes | None = None
    url: str = ""

    def add(self, project: str, name: str, content: bytes) -> Served:
        served = Served(content)
        self.files.setdefault(project, {})[name] = served
        return served

    def listing(self, project: str) -> bytes:
        files = [
            {
                "filename": name, "url": f"{self.url}/files/{project}/{name}",
                "hashes": {"sha256": served.digest()} if served.digest() else {},
                "size": len(served.content), "yanked": served.yanked,
            }
            for name, served in self.files[project].items()
        ]  # fmt: skip
        return json.dumps(
            {"meta": {"api-version": "1.1"}, "name": project, "versions": [], "files": files}
        ).encode()


@contextmanager
def serve(index: Index) -> Iterator[Index]:
    """Run the index on a free port of the loopback address."""

    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            index.requests.append(f"{self.path} {self.headers.get('Range', '')}".strip())
            if index.down:
                self.close_connection = True
                return
            parts = self.path.strip("/").split("/")
            if parts[0] == "simple":
                self._page(parts[1])
            else:
                self._file(index.files[parts[1]][parts[2]])

        def _page(self, project: str) -> None:
            if project not in index.files or index.page_status:
                self._send(index.page_status or 404, b"", "text/plain")
                return
            body = index.page if index.page is not None else index.listing(project)
            self._send(200, body, "application/vnd.pypi.simple.v1+json")

        def _file(self, served: Served) -> None:
            wanted = self.headers.get("Range")
            if index.hang:
                stopped.wait(30)
                return
            if served.status:
                self._send(served.status, b"", "text/plain")
            elif wanted is None or not served.ranges:
                self._send(200, served.content, "application/octet-stream", cut=served.cut)
            else:
                start, stop = _range(wanted, len(served.content))
                extra = f"bytes {start}-{stop - 1}/{len(served.content)}"
                self._send(206, served.content[start:stop], "application/octet-stream", extra, served.cut)

        def _send(self, status: int, body: bytes, kind: str, extra: str = "", cut: int | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if extra:
                self.send_header("Content-Range", extra)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body if cut is None else body[:cut])
            if cut is not None:
                self.close_connection = True

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: object) -> None:
            pass  # a client that hangs up is what some tests are about

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield index
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _range(header: str, size: int) -> tuple[int, int]:
    first, _, last = header.removeprefix("bytes=").partition("-")
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size


def own_settings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of this machine's other settings of pip and uv."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "UV_INDEX", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An empty index that pinproof asks instead of PyPI."""
    from pinproof.releases import distributions

    with serve(Index()) as running:
        monkeypatch.setenv("PIP_INDEX_URL", f"{running.url}/simple/")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        own_settings_only(monkeypatch)
        distributions.cache_clear()
        yield running
        distributions.cache_clear()


def wheel(files: dict[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A wheel's bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def sdist(members: dict[str, bytes] | list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """An sdist's bytes; members by name, or with a header of one's own."""
    pairs = members if isinstance(members, list) else [(tarfile.TarInfo(n), c) for n, c in members.items()]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for info, content in pairs:
            if info.isreg() and info.size == 0:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()
