"""A server that answers anything at all stops the scan with one line; nothing unseen looks seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pinproof.duplicates import queries
from pinproof.duplicates.client import Client, Stopped
from pinproof.duplicates.index.opening import open_index
from pinproof.duplicates.index.store import Index
from pinproof.duplicates.walk import Walker

REPO = "vllm-project/vllm"
PULL: dict[str, Any] = {
    "__typename": "PullRequest", "number": 7, "title": "t", "body": None, "state": "OPEN",
    "createdAt": "2026-11-01T00:00:00Z", "updatedAt": "2026-11-01T00:00:00Z", "closedAt": None,
    "headRefName": "x", "headRefOid": "a" * 40, "author": None, "closingIssuesReferences": None,
    "files": {"totalCount": 1, "nodes": [{"path": "a.py"}]},
}  # fmt: skip


class Answering(Client):
    """A client that gets one text for every question, and no network."""

    def __init__(self, content: bytes, headers: dict[str, str] | None = None) -> None:
        super().__init__("https://nowhere.invalid", "https://nowhere.invalid/graphql", "token")
        self._answer: Any = SimpleNamespace(content=content, headers=headers or {})

    def _send(self, method: str, url: str, **request: Any) -> Any:
        return self._answer


def page_of(pull: Any, **connection: Any) -> bytes:
    found = {"totalCount": 1, "pageInfo": {"endCursor": "c", "hasNextPage": False}, "nodes": [pull]}
    return json.dumps({"data": {"repository": {"pullRequests": {**found, **connection}}}}).encode()


def page(content: bytes, after: str | None = None) -> queries.Page:
    return queries.graphql_page(Answering(content), REPO, "open", after, 50)


def test_the_answer_that_the_others_here_spoil_is_good() -> None:
    assert [pull.number for pull in page(page_of(PULL)).pulls] == [7]


@pytest.mark.parametrize(
    "content",
    [b"[]", b"5", b"null", b'"x"', b"[" * 200_000, b'{"data":' * 200_000, b'{"data":[]}', b"\xff\xfe",
     b'{"data":null,"errors":"boom"}', b'{"data":null,"errors":["boom",5,null]}',
     b'{"data":{"rateLimit":{"cost":"x"},"repository":{}}}', b'{"data":{"repository":5}}',
     page_of(PULL, nodes=None), page_of(PULL, totalCount="x"), page_of("x")],
    ids=range(15),
)  # fmt: skip
def test_an_answer_of_another_shape_stops_the_scan(content: bytes) -> None:
    with pytest.raises(Stopped, match="GitHub"):
        page(content)


@pytest.mark.parametrize(
    "changes",
    [{"number": None}, {"number": "7"}, {"number": -5}, {"number": 1 << 70}, {"title": None}, {"title": 5},
     {"body": ["x"]}, {"state": None}, {"state": 5}, {"updatedAt": None}, {"updatedAt": 5},
     {"updatedAt": "garbage"}, {"createdAt": "\ud800"}, {"headRefOid": 5}, {"author": "x"},
     {"files": {"totalCount": "x", "nodes": []}}, {"files": {"totalCount": 1, "nodes": [{"path": 5}]}},
     {"closingIssuesReferences": {"nodes": [{"number": 1 << 70}]}}],
    ids=str,
)  # fmt: skip
def test_a_pull_request_with_a_field_of_another_type_stops_the_scan(changes: dict[str, Any]) -> None:
    with pytest.raises(Stopped, match="not what its API describes"):
        page(page_of({**PULL, **changes}))


def test_half_a_surrogate_pair_in_a_name_is_stored_as_something_else(tmp_path: Path) -> None:
    found = page(page_of({**PULL, "author": {"login": "\ud800"}, "headRefOid": "\ud800"})).pulls
    index = open_index(tmp_path / "index.sqlite")
    index.store(found)
    assert index.count() == 1
    index.db.close()


def test_a_next_page_without_a_cursor_is_not_taken_for_the_end() -> None:
    with pytest.raises(Stopped):
        page(page_of(PULL, pageInfo={"endCursor": None, "hasNextPage": True}))


@pytest.mark.parametrize("value", ["9" * 30, "-1", "soon"])
def test_a_reset_time_that_is_none_is_bounded(value: str, waits: list[float]) -> None:
    client = Answering(b'{"errors":[{"type":"RATE_LIMITED"}]}', {"x-ratelimit-reset": value})
    with pytest.raises(Stopped, match="rate limit"):
        client.graphql("query { x }", {})
    assert sum(waits) < 90


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = open_index(tmp_path / "index.sqlite")
    yield made
    made.db.close()


def test_a_list_that_comes_back_to_the_same_place_ends(index: Index) -> None:
    def fetch(after: str | None, _size: int) -> queries.Page:
        return queries.Page([], "the same", 3)

    with pytest.raises(Stopped, match="in circles"):
        Walker(index, "open/graphql", fetch, lambda _count: None).run("")


def test_a_list_without_an_end_ends(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinproof.duplicates.walk._MOST_PAGES", 20)

    def fetch(after: str | None, _size: int) -> queries.Page:
        return queries.Page([], str(int(after or 0) + 1), 3)

    with pytest.raises(Stopped, match="in circles"):
        Walker(index, "open/graphql", fetch, lambda _count: None).run("")
