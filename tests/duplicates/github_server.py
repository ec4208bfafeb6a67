"""A GitHub on this machine: the documented part of REST and GraphQL that the scan uses, with its faults.

GraphQL is run by graphql-core on a cut of GitHub's published schema, so a query that GitHub would refuse
is refused here; REST parameters are checked against a cut of the published description.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import threading
import time
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from graphql import ExecutionResult, GraphQLError, GraphQLSchema, build_schema, graphql_sync

from tests.duplicates.github_data import file_items, pull_item, pull_node, search_item
from tests.duplicates.make_descriptions import GRAPHQL, REST
from tests.duplicates.synthetic import Made

SECRET = "ghp_0123456789abcdefSECRETsecret0123456789"  # a token of this test server only


class GitHubServer(ThreadingHTTPServer):
    """The server and what it holds.

    `faults` are taken one for each request: a status with headers, "cut" (the connection ends in the
    answer), "limited" (GraphQL's own rate-limit error), "text" (no JSON). `heavy_above` makes GraphQL
    pages with more items fail with 502, as GitHub does when a query takes too long. `epoch` is part of
    every cursor: raise it and all cursors are unknown.
    """

    daemon_threads = True

    def __init__(self, pulls: dict[int, Made], repo: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repo = repo
        self.pulls = pulls
        self.issues: dict[int, dict[str, Any]] = {}
        self.schema: GraphQLSchema = build_schema(GRAPHQL.read_text())
        self.rest = json.loads(REST.read_text())["paths"]
        self.faults: deque[Any] = deque()
        self.heavy_above: int | None = None
        self.epoch = 1
        self.budget: int | None = None
        """Requests left before the primary rate limit; None for plenty."""
        self.requests: list[tuple[str, str]] = []
        self.authorizations: list[str | None] = []
        self.violations: list[str] = []
        self._sorted: dict[bool, list[Made]] = {}

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def changed(self) -> None:
        """To be called after pulls were altered."""
        self._sorted.clear()

    def ordered(self, *, opened: bool) -> list[Made]:
        """Open or closed pull requests, the latest update first."""
        if opened not in self._sorted:
            found = [made for made in self.pulls.values() if (made.state == "open") is opened]
            self._sorted[opened] = sorted(found, key=lambda made: (made.updated, made.number), reverse=True)
        return self._sorted[opened]

    def execute(self, query: str, variables: dict[str, Any]) -> ExecutionResult:
        """Run a GraphQL query on the schema."""
        return graphql_sync(self.schema, query, _Root(self), variable_values=variables, type_resolver=None)


class _Root:
    """The resolvers: graphql-core calls a method with the field's name."""

    def __init__(self, server: GitHubServer) -> None:
        self.server = server

    def rateLimit(self, _info: Any, **_: Any) -> dict[str, Any]:  # noqa: N802
        return {"cost": 2, "limit": 5000, "remaining": 4000, "resetAt": "2026-11-30T20:00:00Z"}

    def repository(self, _info: Any, owner: str, name: str, **_: Any) -> Any:
        if f"{owner}/{name}" != self.server.repo:
            return GraphQLError("Could not resolve to a Repository", extensions={"type": "NOT_FOUND"})
        return {"pullRequests": self._pull_requests, "issueOrPullRequest": self._numbered}

    def _pull_requests(self, _info: Any, **arguments: Any) -> Any:
        server, first = self.server, arguments.get("first") or 0
        made = server.ordered(opened=arguments["states"] == ["OPEN"])
        start = 0
        if after := arguments.get("after"):
            epoch, number = base64.b64decode(after).decode().split(":")
            places = {item.number: at for at, item in enumerate(made)}
            if int(epoch) != server.epoch:
                raise GraphQLError("`after` does not appear to be a valid cursor.",
                                   extensions={"type": "INVALID_CURSOR_ARGUMENTS"})  # fmt: skip
            start = places.get(int(number), -1) + 1
        page = made[start : start + first]
        more = start + first < len(made)
        end = base64.b64encode(f"{server.epoch}:{page[-1].number}".encode()).decode() if page else None
        return {
            "totalCount": len(made), "nodes": [pull_node(item) for item in page],
            "pageInfo": {"endCursor": end, "hasNextPage": more},
        }  # fmt: skip

    def _numbered(self, _info: Any, number: int) -> Any:
        issue = self.server.issues.get(number)
        if issue is None and (made := self.server.pulls.get(number)):
            return {**pull_node(made), "comments": {"totalCount": 0, "nodes": []}}
        if issue is None:
            return GraphQLError("Could not resolve to a number", extensions={"type": "NOT_FOUND"})
        comments = [{"body": body} for body in issue["comments"]]
        return {**issue, "comments": {"totalCount": len(comments), "nodes": comments}}

    def search(self, _info: Any, query: str, first: int, **_: Any) -> Any:
        found = self.server_search(query)
        nodes = [pull_node(item) if isinstance(item, Made) else item for item in found[:first]]
        return {"issueCount": len(found), "nodes": nodes}

    def server_search(self, query: str) -> list[Any]:
        """GitHub's search in its simplest form: every word or quoted phrase must occur."""
        terms = re.findall(r'"([^"]+)"|(\S+)', query)
        words = [phrase or word for phrase, word in terms]
        plain = [word.lower() for word in words if not re.fullmatch(r"(repo|is|in|sort):\S+", word)]
        pool: list[Any] = list(self.server.issues.values())
        if "is:pr" in words:
            pool = [
                made for made in self.server.pulls.values() if "is:open" not in words or made.state == "open"
            ]
        texts = [
            (item, (f"{item.title}\n{item.body}" if isinstance(item, Made) else item["body"]))
            for item in pool
        ]
        return [item for item, text in texts if all(word in text.lower() for word in plain)]


def issue(number: int, title: str, body: str, comments: list[str]) -> dict[str, Any]:
    """An issue for the server to hold."""
    return {
        "__typename": "Issue", "number": number, "title": title, "body": body, "state": "OPEN",
        "createdAt": "2026-08-01T00:00:00Z", "updatedAt": "2026-08-02T00:00:00Z", "closedAt": None,
        "author": {"__typename": "User", "login": "someone"}, "comments": comments,
    }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    server: GitHubServer
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # headers and body in one packet, or each answer waits 40 ms for an acknowledgement
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if not self._admitted("GET"):
            return
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        self._check_rest(url.path, query)
        self._rest(url.path, query)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._admitted("POST"):
            return None
        asked = json.loads(body)
        first = (asked.get("variables") or {}).get("first") or 0
        if self.server.heavy_above is not None and first > self.server.heavy_above:
            return self._answer(502, {"message": "Something went wrong"})
        result = self.server.execute(asked["query"], asked.get("variables") or {})
        answer: dict[str, Any] = {"data": result.data}
        if result.errors:
            answer["errors"] = [
                {"type": (error.extensions or {}).get("type", "INVALID"), "message": error.message}
                for error in result.errors
            ]
        return self._answer(200, answer)

    def _admitted(self, method: str) -> bool:
        """Record the request; answer it here when a fault, the token or the limit says so."""
        server = self.server
        server.requests.append((method, self.path))
        server.authorizations.append(self.headers.get("Authorization"))
        if server.faults and (fault := server.faults.popleft()) is not None:
            self._fail(fault)
            return False
        if self.headers.get("Authorization") not in (None, f"token {SECRET}"):
            self._answer(401, {"message": "Bad credentials"})
            return False
        if method == "POST" and self.headers.get("Authorization") is None:
            self._answer(403, {"message": "API rate limit exceeded"}, {"x-ratelimit-remaining": "0"})
            return False
        if server.budget is not None:
            server.budget -= 1
            if server.budget < 0:
                reset = str(int(time.time()) + 3000)
                limit = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
                self._answer(403, {"message": "API rate limit exceeded"}, limit)
                return False
        return True

    def _fail(self, fault: Any) -> None:
        if fault == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            self.close_connection = True
        elif fault == "limited":
            errors = [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]
            self._answer(200, {"errors": errors}, {"retry-after": "0"})
        elif fault == "text":
            self._answer(200, None, raw=b"<html>proxy</html>")
        else:
            status, headers, message = fault
            self._answer(status, {"message": message}, headers)

    def _rest(self, path: str, query: dict[str, str]) -> None:
        server, base = self.server, f"/repos/{self.server.repo}"
        if path == f"{base}/pulls":
            made = server.ordered(opened=query["state"] == "open")
            return self._page([pull_item(item) for item in made], query)
        if match := re.fullmatch(rf"{base}/pulls/(\d+)/files", path):
            pull = server.pulls.get(int(match[1]))
            return (
                self._page(file_items(pull), query) if pull else self._answer(404, {"message": "Not Found"})
            )
        if match := re.fullmatch(rf"{base}/issues/(\d+)", path):
            held = server.issues.get(int(match[1]))
            if held is None:
                return self._answer(404, {"message": "Not Found"})
            return self._answer(200, _issue_item(held))
        if path == "/search/issues":
            found = _Root(server).server_search(query["q"])
            items = [search_item(item) if isinstance(item, Made) else _issue_item(item) for item in found]
            return self._answer(
                200, {"total_count": len(items), "incomplete_results": False, "items": items[:20]}
            )
        return self._answer(404, {"message": "Not Found"})

    def _page(self, items: list[dict[str, Any]], query: dict[str, str]) -> None:
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        more = page * size < len(items)
        link = (
            {"link": f'<{self.server.url}{urlsplit(self.path).path}?page={page + 1}>; rel="next"'}
            if more
            else {}
        )
        self._answer(200, items[(page - 1) * size : page * size], link)

    def _check_rest(self, path: str, query: dict[str, str]) -> None:
        """A request that the published description does not allow is noted; tests look at the notes."""
        for template, parameters in self.server.rest.items():
            if not re.fullmatch(re.sub(r"\\?\{\w+\\?\}", "[^/]+", re.escape(template)), path):
                continue
            known = {item["name"]: item for item in parameters if item["in"] == "query"}
            for key, value in query.items():
                allowed = known.get(key, {}).get("schema", {}).get("enum")
                if key not in known or (allowed and value not in allowed):
                    self.server.violations.append(f"{path}: {key}={value}")
            missing = [key for key, item in known.items() if item["required"] and key not in query]
            self.server.violations += [f"{path}: no {key}" for key in missing]
            return
        self.server.violations.append(f"{path} is not described")

    def _answer(
        self, status: int, body: Any, headers: dict[str, str] | None = None, *, raw: bytes | None = None
    ) -> None:
        data = json.dumps(body).encode() if raw is None else raw
        self.send_response(status)
        for key, value in {"x-ratelimit-remaining": "4000", **(headers or {})}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _issue_item(held: dict[str, Any]) -> dict[str, Any]:
    return {
        "number": held["number"], "title": held["title"], "body": held["body"],
        "state": held["state"].lower(),
        "user": {"login": "someone"}, "created_at": held["createdAt"], "updated_at": held["updatedAt"],
        "closed_at": None, "comments": len(held["comments"]),
    }  # fmt: skip


@contextlib.contextmanager
def serve(pulls: dict[int, Made], repo: str = "vllm-project/vllm") -> Iterator[GitHubServer]:
    """A running server, ended with the block."""
    server = GitHubServer(pulls, repo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
