"""A GitHub on this machine, as far as the drift watch uses it: issues, comments, refs and contents."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

TOKEN = "ghs_fake0token0that0must0never0be0shown"


@dataclass
class FakeGitHub:
    """One repository, `owner/name`; `refuse` maps "METHOD path-suffix" to a status to answer with."""

    issues: list[dict[str, Any]] = field(default_factory=list)
    comments: list[tuple[int, str]] = field(default_factory=list)
    files: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"main": {}})
    requests: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    refuse: dict[str, int] = field(default_factory=dict)
    login: str = "github-actions[bot]"
    url: str = ""

    def answer(self, method: str, path: str, query: str, body: Any) -> tuple[int, Any]:
        self.requests.append(f"{method} {path}")
        for rule, status in self.refuse.items():
            if f"{method} {path}".endswith(rule):
                return status, {"message": "refused"}
        if path == "":
            return 200, {"default_branch": "main"}
        if path == "/issues":
            return self._issues(method, body)
        if match := re.fullmatch(r"/issues/(\d+)(/comments)?", path):
            return self._issue(method, int(match[1]), bool(match[2]), body)
        if match := re.fullmatch(r"/git/ref/heads/(.+)", path):
            return (200, {"object": {"sha": "a" * 40}}) if match[1] in self.files else (404, {})
        if path == "/git/refs":
            self.files[body["ref"].removeprefix("refs/heads/")] = dict(self.files["main"])
            return 201, {}
        if path.startswith("/contents/"):
            return self._contents(method, path.removeprefix("/contents/"), query, body)
        return 404, {}

    def _issues(self, method: str, body: Any) -> tuple[int, Any]:
        if method == "GET":
            return 200, [issue for issue in self.issues if issue["state"] == "open"]
        number = len(self.issues) + 1
        self.issues.append({
            "number": number, "state": "open", "user": {"login": self.login},
            "html_url": f"https://github.example/owner/name/issues/{number}", **body,
        })  # fmt: skip
        return 201, self.issues[-1]

    def _issue(self, method: str, number: int, comment: bool, body: Any) -> tuple[int, Any]:
        if comment:
            self.comments.append((number, body["body"]))
            return 201, {}
        assert method == "PATCH"
        self.issues[number - 1].update(body)
        return 200, self.issues[number - 1]

    def _contents(self, method: str, path: str, query: str, body: Any) -> tuple[int, Any]:
        branch = body["branch"] if body else query.removeprefix("ref=")
        files = self.files.get(branch, {})
        if method == "GET":
            if path not in files:
                return 404, {}
            return 200, {"content": base64.b64encode(files[path]).decode(), "sha": _sha(files[path])}
        if path in files and body.get("sha") != _sha(files[path]):
            return 409, {"message": "is at another sha"}
        files[path] = base64.b64decode(body["content"])
        return 200, {}


def _sha(data: bytes) -> str:
    return f"{hash(data) & 0xFFFFFFFF:040x}"


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """An empty repository `owner/name`; the variables are those a runner sets."""
    fake = FakeGitHub()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def _serve(self) -> None:
            fake.tokens.add(
                self.headers.get("Authorization", "").removeprefix("token ").removeprefix("Bearer ")
            )
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path, _, query = self.path.removeprefix("/repos/owner/name").partition("?")
            status, answer = fake.answer(self.command, path, query, json.loads(raw) if raw else None)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self._serve
            raise AttributeError(name)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/name")
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
