"""HTTP as the settings say: certificates, proxy, logins, and nothing at all when offline."""

from __future__ import annotations

import io
import os
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import BaseAdapter, HTTPAdapter

from pinproof.index.bounds import ANSWER_S, LARGEST_PAGE, deadline, keep_body
from pinproof.index.login import IndexAuth
from pinproof.index.settings import settings

if TYPE_CHECKING:
    from pinproof.index.settings import Settings


class Offline(requests.ConnectionError):
    """Nothing is sent to any host in offline mode."""


class IndexSession(requests.Session):
    """A session for the package index and the files it points at."""

    def __init__(self, chosen: Settings | None = None) -> None:
        super().__init__()
        self._settings = chosen or settings()
        if self._settings.cert is None:
            self.mount("https://", _SystemTrust())
        self.mount("file://", LocalFiles())
        self.auth = IndexAuth(self._settings)
        self.hooks["response"].append(_drop_redirect_body)
        self.cert = self._settings.client_cert
        if self._settings.trusted:
            import urllib3

            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send one request, or refuse to when offline."""
        if self._settings.offline and not (request.url or "").startswith("file:"):
            raise Offline(f"{urlsplit(request.url or '').hostname} was not asked")
        whole = not options.get("stream")
        with deadline(ANSWER_S, urlsplit(request.url or "").hostname or "a file"):
            reply = super().send(request, **{**options, "stream": True})
            if whole and not reply.is_redirect:
                keep_body(reply, LARGEST_PAGE)
        return reply

    def get_redirect_target(self, reply: requests.Response) -> str | None:
        """Where a reply points on; a server must not point at a file of this machine."""
        target = super().get_redirect_target(reply)
        if target is not None and target.lower().startswith("file:"):
            raise requests.exceptions.InvalidSchema("a server redirects to a local file")
        return target

    def merge_environment_settings(  # type: ignore[override]
        self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any
    ) -> dict[str, Any]:
        """The environment's proxies and certificates, under what pip and uv were told."""
        merged = dict(super().merge_environment_settings(url, proxies, stream, verify, cert))
        if self._settings.proxy:
            merged["proxies"] = {"http": self._settings.proxy, "https": self._settings.proxy}
        parts = urlsplit(str(url))
        if {parts.hostname, parts.netloc.rpartition("@")[2]} & set(self._settings.trusted):
            merged["verify"] = False
        elif self._settings.cert:
            merged["verify"] = self._settings.cert
        return merged


def _drop_redirect_body(reply: requests.Response, **_: object) -> None:
    """requests would read it to the end, and it may have none."""
    if reply.is_redirect:
        reply.close()
        reply._content = b""
        reply._content_consumed = True  # type: ignore[attr-defined]


class _SystemTrust(HTTPAdapter):
    """Verifies against the system's certificates too, where a company keeps its own authority."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options, ssl_context=_system_context())

    def proxy_manager_for(self, *args: Any, **options: Any) -> Any:
        return super().proxy_manager_for(*args, **options, ssl_context=_system_context())


def _system_context() -> ssl.SSLContext:
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class LocalFiles(BaseAdapter):
    """file:// as an index answers: a folder is its index.html, and byte ranges work."""

    def send(  # type: ignore[override]
        self, request: requests.PreparedRequest, **_: Any
    ) -> requests.Response:
        """The file as a response; 404 where there is none."""
        reply = requests.Response()
        reply.request = request
        reply.url = request.url or ""
        path = local_path(reply.url)
        if path.is_dir():
            path = path / "index.html"
            reply.url = path.as_uri()
        try:
            stream = _OpenFile(path)
        except OSError:
            reply.status_code, reply.raw = 404, io.BytesIO()
            return reply
        size = os.fstat(stream.fileno()).st_size
        start, stop = _range(request.headers.get("Range"), size)
        stream.seek(start)
        reply.status_code = 206 if "Range" in request.headers else 200
        reply.reason = "OK"
        reply.headers["Content-Type"] = "text/html" if path.suffix == ".html" else "application/octet-stream"
        reply.headers["Content-Length"] = str(stop - start)
        reply.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        if "Range" in request.headers or path.suffix == ".html":
            with stream:
                reply.raw = io.BytesIO(stream.read(stop - start))
        else:
            reply.raw = stream
        return reply

    def close(self) -> None:
        """Nothing is kept open."""


class _OpenFile(io.FileIO):
    """A file that requests closes when it has read all of it, as it hands a connection back."""

    def release_conn(self) -> None:
        self.close()


def local_path(url: str) -> Path:
    """The path of a file: URL."""
    return Path(unquote(urlsplit(url).path))


def _range(header: str | None, size: int) -> tuple[int, int]:
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", header or "")
    if match is None:
        return 0, size
    first, last = match.groups()
    if not first:
        return max(size - int(last or 0), 0), size
    return min(int(first), size), min(int(last) + 1, size) if last else size
