"""Logins, certificates, local indexes and offline mode, against servers on this machine."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
import trustme
from pinproof.errors import CannotCheck, InputError
from pinproof.index.session import IndexSession
from pinproof.releases import distributions, download_sdist, pick, release_tree, versions

from tests.index_server import own_settings_only, sdist, wheel

WHEEL = "vllm-1.0-cp38-abi3-manylinux_2_31_x86_64.whl"
Answer = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture(autouse=True)
def clean_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    own_settings_only(monkeypatch)
    for name in ("PIP_INDEX_URL", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    distributions.cache_clear()
    yield
    distributions.cache_clear()


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Answer, context: ssl.SSLContext | None = None) -> str:
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                answer(self)

        class Server(ThreadingHTTPServer):
            def handle_error(self, *args: object) -> None:
                pass  # a client without a certificate

        server = Server(("127.0.0.1", 0), Handler)
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return f"{'https' if context else 'http'}://localhost:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def page(*links: str) -> bytes:
    return "".join(
        f'<a href="{link}">{link.rpartition("/")[2].partition("#")[0]}</a>' for link in links
    ).encode()


def behind_login(expected: str) -> Answer:
    wanted = "Basic " + base64.b64encode(expected.encode()).decode()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.headers.get("Authorization") != wanted:
            reply(handler, 401, WWW_Authenticate="Basic")
        else:
            reply(handler, 200, page(f"{WHEEL}#sha256={'a' * 64}"), Content_Type="text/html")

    return answer


def test_a_login_in_the_index_url_is_used_and_not_shown(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = serve(behind_login("me:secret"))
    monkeypatch.setenv("PIP_INDEX_URL", url.replace("//", "//me:secret@") + "/simple")
    assert versions("vllm") == ["1.0"]
    distributions.cache_clear()
    monkeypatch.setenv("PIP_INDEX_URL", url.replace("//", "//me:wrongsecret@") + "/simple")
    with pytest.raises(CannotCheck, match="401") as caught:
        versions("vllm")
    assert "wrongsecret" not in f"{caught.value.message}{caught.value.hint}"


def test_a_login_in_netrc_is_used(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine localhost login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("PIP_INDEX_URL", serve(behind_login("me:secret")) + "/simple")
    assert versions("vllm") == ["1.0"]


@pytest.mark.parametrize("user", ["", "me@"])
def test_a_login_in_a_keyring_is_used_after_a_401(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: str
) -> None:
    program = tmp_path / "bin/keyring"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$1" = get ] || echo me\necho secret\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("UV_KEYRING_PROVIDER", "subprocess")
    url = serve(behind_login("me:secret")).replace("//", f"//{user}")
    monkeypatch.setenv("UV_DEFAULT_INDEX", url + "/simple")
    assert versions("vllm") == ["1.0"]


def test_a_login_is_never_sent_to_another_host(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []

    def other(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers.get("Authorization"))
        reply(handler, 200, page(f"{WHEEL}#sha256={'a' * 64}"), Content_Type="text/html")

    elsewhere = serve(other).replace("localhost", "127.0.0.1")
    url = serve(lambda handler: reply(handler, 302, Location=f"{elsewhere}/simple/vllm/"))
    monkeypatch.setenv("PIP_INDEX_URL", url.replace("//", "//me:secret@") + "/simple")
    assert versions("vllm") == ["1.0"]
    assert seen == [None]


def test_a_companys_authority_a_client_certificate_and_a_trusted_host(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    url = serve(
        lambda h: reply(h, 200, page(f"{WHEEL}#sha256={'a' * 64}"), Content_Type="text/html"), context
    )
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    authority.issue_cert("me@example.org").private_key_and_cert_chain_pem.write_to_path(
        str(tmp_path / "me.pem")
    )
    monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
    monkeypatch.setenv("PIP_CLIENT_CERT", str(tmp_path / "me.pem"))
    with pytest.raises(CannotCheck, match=r"certificate|CERTIFICATE"):
        versions("vllm")
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "ca.pem"))
    assert versions("vllm") == ["1.0"]
    distributions.cache_clear()
    monkeypatch.delenv("PIP_CERT")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "localhost")
    assert versions("vllm") == ["1.0"]
    distributions.cache_clear()
    monkeypatch.delenv("PIP_CLIENT_CERT")
    with pytest.raises(CannotCheck):
        versions("vllm")


def test_the_proxy_of_pip_is_used(serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def proxy(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        reply(handler, 200, page(f"{WHEEL}#sha256={'a' * 64}"), Content_Type="text/html")

    monkeypatch.setenv("PIP_PROXY", serve(proxy))
    monkeypatch.setenv("PIP_INDEX_URL", "http://mirror.invalid/simple")
    assert versions("vllm") == ["1.0"]
    assert asked == ["http://mirror.invalid/simple/vllm/"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "wheels"
    files.mkdir()
    (files / WHEEL).write_bytes(wheel({"vllm/__init__.py": b"x = 1\n", "vllm/a.py": b"a" * 5000}))
    (files / "vllm-1.0.tar.gz").write_bytes(sdist({"vllm-1.0/vllm/__init__.py": b""}))
    (files / "other-2.0-py3-none-any.whl").write_bytes(wheel({"other.py": b""}))
    return files


def test_a_folder_of_wheels_is_enough_and_nothing_is_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: pytest.fail(f"asked for {a}"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    tree = release_tree("vllm", "1.0")
    assert tree.read("vllm/a.py") == b"a" * 5000
    assert download_sdist("vllm", "1.0").read_bytes() == (folder / "vllm-1.0.tar.gz").read_bytes()
    with pytest.raises(InputError, match="no project 'missing'") as caught:
        distributions("missing")
    assert str(folder) in (caught.value.hint or "")


def test_an_index_on_disk_works(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listing = tmp_path / "simple/vllm/index.html"
    listing.parent.mkdir(parents=True)
    listing.write_bytes(page(f"../../wheels/{WHEEL}"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "simple").as_uri())
    assert release_tree("vllm", "1.0").read("vllm/__init__.py") == b"x = 1\n"


def test_a_server_cannot_point_at_a_file_of_this_machine(
    serve: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = (folder / WHEEL).as_uri()
    monkeypatch.setenv(
        "PIP_INDEX_URL", serve(lambda h: reply(h, 200, page(target), Content_Type="text/html"))
    )
    with pytest.raises(InputError, match="no project"):
        pick("vllm", "1.0", "wheel")
    monkeypatch.setenv("PIP_INDEX_URL", serve(lambda h: reply(h, 302, Location=target)))
    with pytest.raises(CannotCheck, match="redirects to a local file"):
        pick("vllm", "1.0", "wheel")


def test_an_extra_index_of_uv_that_knows_the_project_ends_the_search(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def only(version: str) -> Answer:
        link = f"vllm-{version}-py3-none-any.whl#sha256={'a' * 64}"
        return lambda handler: reply(handler, 200, page(link), Content_Type="text/html")

    corp, public, empty = serve(only("1.0")), serve(only("9.9")), serve(lambda handler: reply(handler, 404))
    monkeypatch.setenv("UV_DEFAULT_INDEX", public)
    monkeypatch.setenv("UV_INDEX", f"{empty} {corp}")
    assert versions("vllm") == ["1.0"]
    distributions.cache_clear()
    monkeypatch.setenv("UV_INDEX_STRATEGY", "unsafe-best-match")
    assert versions("vllm") == ["1.0", "9.9"]


def test_offline_sends_nothing_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINPROOF_OFFLINE", "1")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: pytest.fail(f"asked for {a}"))
    with pytest.raises(CannotCheck, match="offline: which releases of vllm there are is not in the cache"):
        pick("vllm", "1.0", "wheel")
    with IndexSession() as session, pytest.raises(requests.ConnectionError):
        session.get("https://packages.example/simple/")
