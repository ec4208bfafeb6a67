"""The client waits when told to, gives up in bounded time, and never shows the token."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator

import pytest
from pinproof.duplicates import auth, queries
from pinproof.duplicates.auth import find_token
from pinproof.duplicates.client import BadCursor, Client, Stopped, TooHeavy
from pinproof.errors import InputError, PinproofError

from tests.duplicates.conftest import SMALL, made_pull
from tests.duplicates.github_server import SECRET, GitHubServer, serve

REPO = "vllm-project/vllm"


@pytest.fixture
def client(server: GitHubServer) -> Iterator[Client]:
    made = Client(server.url, f"{server.url}/graphql", SECRET)
    yield made
    made.close()


def page(client: Client, after: str | None = None, size: int = 50) -> queries.Page:
    return queries.graphql_page(client, REPO, "open", after, size)


def test_a_page_has_the_latest_first_with_files_and_a_cursor(client: Client) -> None:
    first = page(client)
    second = page(client, first.after)
    assert [pull.updated for pull in first.pulls] == sorted((p.updated for p in first.pulls), reverse=True)
    assert all(pull.files and pull.head for pull in first.pulls)
    assert not {p.number for p in first.pulls} & {p.number for p in second.pulls}
    assert first.total == sum(made.state == "open" for made in SMALL.pulls.values())
    assert (client.requests, client.cost) == (2, 4)


@pytest.mark.parametrize(
    ("faults", "waited"),
    [
        ([(429, {"retry-after": "7"}, "secondary rate limit")], [7.0]),
        ([(403, {"retry-after": "30"}, "You have exceeded a secondary rate limit")], [30.0]),
        ([(403, {}, "You have exceeded a secondary rate limit")], [60.0]),
        ([(403, {}, "You have exceeded a secondary rate limit")] * 3, [60.0, 120.0, 240.0]),
        ([(502, {}, "Bad Gateway")], [0.5]),
        (["cut"], [0.5]),
        (["cut", "cut", "cut"], [0.5, 2.0, 8.0]),
        (["limited"], [0.0]),
    ],
)
def test_a_passing_fault_is_waited_out(
    client: Client, server: GitHubServer, waits: list[float], faults: list[object], waited: list[float]
) -> None:
    server.faults.extend(faults)
    assert page(client).pulls
    assert [seconds for seconds in waits if seconds != 0.01] == waited
    assert client.requests == len(faults) + 1


def test_a_limit_that_lasts_long_stops_the_scan_and_says_until_when(
    client: Client, server: GitHubServer, waits: list[float]
) -> None:
    server.budget = 0
    with pytest.raises(Stopped, match=r"rate limit is used up until \d\d:\d\d UTC; what was fetched is kept"):
        page(client)
    assert not waits


def test_graphql_limits_of_its_own_kind_stop_too(client: Client, server: GitHubServer) -> None:
    server.faults.extend(["limited"] * 10)
    with pytest.raises(Stopped, match="rate limit is used up"):
        page(client)


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        ((401, {}, "Bad credentials"), Stopped, "does not accept the token"),
        ((403, {}, "Resource not accessible"), Stopped, r"refused .*status 403: Resource not accessible"),
        ("text", Stopped, "no JSON"),
    ],
)
def test_a_lasting_fault_is_told_in_one_line(
    client: Client, server: GitHubServer, fault: object, error: type[Exception], says: str
) -> None:
    server.faults.append(fault)
    with pytest.raises(error, match=says):
        page(client)


def test_an_outage_of_rest_stops_after_four_tries(client: Client, server: GitHubServer) -> None:
    server.faults.extend([(503, {}, "down")] * 9)
    with pytest.raises(Stopped, match="GitHub has trouble"):
        queries.changed_files(client, REPO, 53288)
    assert client.requests == 4


def test_a_query_that_is_too_heavy_is_told_apart_from_an_outage(client: Client, server: GitHubServer) -> None:
    server.heavy_above = 20
    with pytest.raises(TooHeavy):
        page(client, size=50)
    assert len(page(client, size=20).pulls) == 20


def test_an_expired_cursor_is_told_apart(client: Client, server: GitHubServer) -> None:
    after = page(client).after
    server.epoch += 1
    with pytest.raises(BadCursor):
        page(client, after)


def test_a_repository_that_is_not_there_is_a_usage_error(client: Client) -> None:
    with pytest.raises(InputError, match="no repository nobody/nothing"):
        queries.graphql_page(client, "nobody/nothing", "open", None, 10)
    with pytest.raises(InputError, match="GitHub has no"):
        queries.changed_files(client, REPO, 999_999)


def test_nobody_listening_is_told_with_the_way_out(waits: list[float]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        client = Client(address, f"{address}/graphql", SECRET)
        with pytest.raises(Stopped, match="cannot reach GitHub") as caught:
            page(client)
        client.close()
    assert "--offline" in str(caught.value.hint)
    assert len(waits) == 3


def test_the_token_goes_to_its_own_host_only(client: Client, server: GitHubServer) -> None:
    with serve({1: made_pull(1)}) as other:
        server.faults.append((302, {"location": f"{other.url}/repos/{REPO}/pulls/1/files"}, "moved"))
        client.rest(f"/repos/{REPO}/pulls/1/files")
        assert server.authorizations == [f"token {SECRET}"]
        assert other.authorizations == [None]


@pytest.mark.parametrize("status", [401, 403, 404, 422, 500])
def test_the_token_is_in_no_error_and_no_log_even_when_the_server_echoes_it(
    client: Client, server: GitHubServer, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    server.faults.extend([(status, {}, f"token {SECRET} is bad")] * 9)
    for call in (lambda: page(client), lambda: client.rest(f"/repos/{REPO}/pulls/1/files")):
        with pytest.raises((PinproofError, TooHeavy)) as caught:
            call()
        assert SECRET not in f"{caught.value!s} {caught.value!r} {getattr(caught.value, 'hint', '')}"
    assert SECRET not in caplog.text


def test_graphql_errors_that_echo_the_token_are_masked(client: Client, server: GitHubServer) -> None:
    with pytest.raises(Stopped) as caught:
        client.graphql(f"{{ {SECRET} }}", {})
    assert "[token]" in caught.value.message
    assert SECRET not in caught.value.message


def test_where_a_token_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GITHUB_TOKEN", "")
    monkeypatch.setenv("GH_TOKEN", " second ")
    assert find_token() == "second"
    monkeypatch.setenv("GITHUB_TOKEN", "first")
    assert find_token() == "first"
    monkeypatch.delenv("GITHUB_TOKEN")
    monkeypatch.delenv("GH_TOKEN")
    assert find_token() is None


def test_the_gh_tool_is_asked_when_it_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    from pathlib import Path

    tool = Path(str(tmp_path)) / "gh"
    tool.write_text('#!/bin/sh\n[ "$*" = "auth token --hostname github.com" ] && echo from-gh\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    assert find_token() == "from-gh"


def test_importing_the_command_does_not_import_the_client_library() -> None:
    import subprocess
    import sys

    heavy = ("githubkit", "httpx", "rich", "sqlite3")
    code = f"import pinproof.commands.duplicates, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("named", "api", "graphql", "git"),
    [
        ({}, "https://api.github.com", "https://api.github.com/graphql", "https://github.com"),
        (
            {"GH_HOST": "git.corp.example"}, "https://git.corp.example/api/v3",
            "https://git.corp.example/api/graphql", "https://git.corp.example",
        ),
        (
            {"GITHUB_API_URL": "https://ghe.example/api/v3/"}, "https://ghe.example/api/v3",
            "https://ghe.example/api/graphql", "https://ghe.example",
        ),
        (
            {"GH_HOST": "octo.ghe.com"}, "https://api.octo.ghe.com", "https://api.octo.ghe.com/graphql",
            "https://octo.ghe.com",
        ),
    ],
)  # fmt: skip
def test_the_addresses_of_a_server(
    monkeypatch: pytest.MonkeyPatch, named: dict[str, str], api: str, graphql: str, git: str
) -> None:
    for name in ("GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "GITHUB_SERVER_URL", "GH_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    assert (auth.api_url(), auth.graphql_url(), auth.server_url()) == (api, graphql, git)
