"""The index is brought up to date from anywhere: first run, news, a stop in the middle, lost cursors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from pinproof.duplicates.client import Client, Stopped
from pinproof.duplicates.index.opening import open_index
from pinproof.duplicates.index.store import Index
from pinproof.duplicates.queries import graphql_page, rest_page
from pinproof.duplicates.walk import Walk, Walker

from tests.duplicates.conftest import SMALL, made_pull
from tests.duplicates.github_server import SECRET, GitHubServer
from tests.duplicates.synthetic import TODAY

REPO = "vllm-project/vllm"
OPEN = sum(made.state == "open" for made in SMALL.pulls.values())
CLOSED = len(SMALL.pulls) - OPEN


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened = open_index(tmp_path / "i.sqlite")
    yield opened
    opened.db.close()


class Run:
    """Walks with pages of `size`, or of as many as the walk asks for."""

    def __init__(
        self, server: GitHubServer, index: Index, which: str = "closed", size: int | None = 50
    ) -> None:
        self.server, self.index, self.which, self.size = server, index, which, size

    def __call__(self, since: str = "") -> Walk:
        client = Client(self.server.url, f"{self.server.url}/graphql", SECRET)
        fetch = partial(graphql_page, client, REPO, self.which)
        walker = Walker(self.index, self.which, lambda after, size: fetch(after, self.size or size), _ignore)
        try:
            return walker.run(since)
        finally:
            client.close()


def _ignore(_count: int) -> None:
    pass


def closed(index: Index) -> int:
    return index.count(states=("closed", "merged"))


def test_a_first_walk_reads_everything_once(server: GitHubServer, index: Index) -> None:
    Run(server, index)()
    assert closed(index) == CLOSED
    assert len(server.requests) == -(-CLOSED // 50) + 1  # the last looks whether the list moved on


def test_a_walk_ends_where_it_is_old_enough(server: GitHubServer, index: Index) -> None:
    walk = Run(server, index)("2026-10-01T00:00:00Z")
    assert walk.reaches("2026-10-01T00:00:00Z")
    recent = [made for made in server.ordered(opened=False) if f"{made.updated:%F}" >= "2026-10-01"]
    assert len(recent) <= closed(index) < CLOSED


def test_a_later_walk_reads_the_news_only(server: GitHubServer, index: Index) -> None:
    run = Run(server, index)
    run()
    for at in range(30):
        server.pulls[70_000 + at] = made_pull(
            70_000 + at, state="merged", updated=TODAY + timedelta(hours=at + 1)
        )
    server.changed()
    server.requests.clear()
    run()
    assert closed(index) == CLOSED + 30
    assert len(server.requests) == 1


def test_a_longer_look_back_goes_on_below_what_is_known(server: GitHubServer, index: Index) -> None:
    run = Run(server, index)
    run("2026-10-01T00:00:00Z")
    known = closed(index)
    server.requests.clear()
    run("")
    assert closed(index) == CLOSED
    assert len(server.requests) <= -(-(CLOSED - known) // 50) + 2


@pytest.mark.parametrize("stop_after", range(1, 6))
def test_a_stopped_walk_goes_on_where_it_stopped(server: GitHubServer, index: Index, stop_after: int) -> None:
    run = Run(server, index)
    server.budget = stop_after
    with pytest.raises(Stopped):
        run()
    assert closed(index) == stop_after * 50
    server.budget = None
    server.requests.clear()
    run()
    assert closed(index) == CLOSED
    assert len(server.requests) <= -(-CLOSED // 50) - stop_after + 2


def test_news_that_were_interrupted_are_completed(server: GitHubServer, index: Index) -> None:
    run = Run(server, index, size=10)
    run()
    for at in range(35):
        server.pulls[70_000 + at] = made_pull(
            70_000 + at, state="merged", updated=TODAY + timedelta(hours=at + 1)
        )
    server.changed()
    server.budget = 2
    with pytest.raises(Stopped):
        run()
    server.pulls[71_000] = made_pull(71_000, state="closed", updated=TODAY + timedelta(days=30))
    server.changed()
    server.budget = None
    run()
    assert closed(index) == CLOSED + 36


@pytest.mark.parametrize("stop_after", [1, 4])
def test_cursors_that_expired_are_replaced(server: GitHubServer, index: Index, stop_after: int) -> None:
    run = Run(server, index)
    server.budget = stop_after
    with pytest.raises(Stopped):
        run()
    server.budget = None
    server.epoch += 1
    run()
    assert closed(index) == CLOSED


def test_pages_shrink_until_github_can_answer(server: GitHubServer, index: Index) -> None:
    server.heavy_above = 30
    Run(server, index, "open", size=None)()
    assert index.count() == OPEN
    server.heavy_above = 3
    with pytest.raises(Stopped, match="even small queries"):
        Run(server, index, "open", size=None)()


def test_a_pull_request_that_was_closed_meanwhile_is_open_no_more(server: GitHubServer, index: Index) -> None:
    Run(server, index, "open")()
    Run(server, index, "closed")()
    moved = server.ordered(opened=True)[-1]
    moved.state, moved.updated = "merged", TODAY + timedelta(hours=1)
    server.changed()
    Run(server, index, "open")()
    Run(server, index, "closed")()
    assert (index.count(), closed(index)) == (OPEN - 1, CLOSED + 1)


def test_an_empty_repository_is_known_at_once(server: GitHubServer, index: Index) -> None:
    server.pulls.clear()
    server.changed()
    assert Run(server, index)().reaches("")


def test_the_list_without_a_token_does_not_wipe_known_files(server: GitHubServer, index: Index) -> None:
    Run(server, index, "open")()
    number = server.ordered(opened=True)[0].number
    files = index.files(number)
    client = Client(server.url, f"{server.url}/graphql", None)
    Walker(index, "open/rest", partial(rest_page, client, REPO, "open"), _ignore).run("")
    client.close()
    assert files
    assert index.files(number) == files
    assert server.violations == []
