"""Diffs by git: every one is compared, without a request each, and without a token."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.duplicates.scan import duplicates_gate
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch

from tests.duplicates.conftest import made_pull, patch_of
from tests.duplicates.git_server import BEFORE, FILE, Upstream, changed, instant
from tests.duplicates.github_server import GitHubServer

OLD = ["line 20 of the model", "line 21 of the model", "line 22 of the model"]
NEW = ["situ beta is here", "situ linear beta is here", "and a third thing"]
FIXED = changed(BEFORE, 20, *NEW)
REPO = "vllm-project/vllm"


@pytest.fixture
def upstream(server: GitHubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Upstream:
    """An upstream that git reaches, beside a GitHub without any pull request."""
    made = Upstream(tmp_path / "git", REPO)
    monkeypatch.setenv("GITHUB_SERVER_URL", f"file://{tmp_path}/git")
    server.pulls.clear()
    server.changed()
    return made


def hold(server: GitHubServer, number: int, commit: str, **changes: object) -> None:
    day = instant("2026-08-05T00:00:00Z")
    facts = {"patches": {}, "commit": commit, "created": day, "updated": day, **changes}
    server.pulls[number] = made_pull(number, **facts)
    server.changed()


def patch() -> Patch:
    return patch_of("Fix the betas", "It died.", FILE, OLD, NEW)


def scan(**more: object) -> GateResult:
    return duplicates_gate(patch(), REPO, **more)  # type: ignore[arg-type]


def verdict(result: GateResult, number: int) -> object:
    return next((hit["verdict"] for hit in result.details["hits"] if hit["number"] == number), None)


def test_a_copy_with_another_title_and_text_is_the_same_change(
    server: GitHubServer, upstream: Upstream
) -> None:
    head = upstream.pull(70, {FILE: FIXED}, "Something else", "2026-08-05T00:00:00Z")
    hold(server, 70, head, title="Improve docs", body="no words")
    result = scan()
    assert verdict(result, 70) == "same change"
    assert result.details["inspected"]["git"] == "used"
    assert not [path for _, path in server.requests if path.endswith("/files")]
    assert server.violations == []


def test_a_patch_that_takes_over_a_pull_request_and_adds_to_it_is_seen(
    server: GitHubServer, upstream: Upstream
) -> None:
    part = changed(BEFORE, 20, *NEW[:2])
    hold(server, 71, upstream.pull(71, {FILE: part}, "First", "2026-08-05T00:00:00Z"))
    assert verdict(scan(), 71) == "same change"


def test_the_same_change_for_a_release_branch_is_a_backport_and_asks_nothing(
    server: GitHubServer, upstream: Upstream
) -> None:
    head = upstream.pull(72, {FILE: FIXED}, "Backport", "2026-08-05T00:00:00Z")
    hold(server, 72, head, base="releases/v0.28.0")
    result = scan()
    assert (verdict(result, 72), result.outcome) == ("backport", "pass")
    assert verdict(scan(base="releases/v0.28.0"), 72) == "same change"


def test_a_merged_change_that_was_taken_back_is_reverted(server: GitHubServer, upstream: Upstream) -> None:
    done = upstream.commit("main", {FILE: FIXED}, "Fix (#73)", "2026-08-05T00:00:00Z")
    undone = upstream.commit("main", {FILE: BEFORE}, 'Revert "Fix (#73)" (#74)', "2026-08-06T00:00:00Z")
    closed = instant("2026-08-06T00:00:00Z")
    hold(server, 73, done, state="merged", merge=done, closed=closed)
    hold(server, 74, undone, state="merged", merge=undone, closed=closed, title='Revert "Fix (#73)" (#74)')
    result = scan()
    assert (verdict(result, 73), result.outcome) == ("reverted", "pass")
    assert "#74 took it back" in next(h["reason"] for h in result.details["hits"] if h["number"] == 73)


def test_a_change_that_was_landed_again_stands(server: GitHubServer, upstream: Upstream) -> None:
    titles = {73: "Fix", 74: 'Revert "Fix (#73)"', 75: 'Revert "Revert "Fix (#73)" (#74)"'}
    for number, text in ((73, FIXED), (74, BEFORE), (75, FIXED)):
        done = upstream.commit("main", {FILE: text}, f"{titles[number]} (#{number})", "2026-08-05T00:00:00Z")
        closed = instant("2026-08-06T00:00:00Z")
        hold(server, number, done, state="merged", merge=done, closed=closed, title=titles[number])
    assert verdict(scan(), 73) == "same change"


def test_without_a_token_git_tells_the_rest_and_a_clean_scan_passes(
    server: GitHubServer, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    upstream.commit("main", {"README.md": "hello you\n"}, "Greet (#60)", "2026-08-02T00:00:00Z")
    head = upstream.pull(75, {"README.md": "bye\n"}, "Leave", "2026-08-05T00:00:00Z")
    hold(server, 75, head)
    result = scan()
    assert result.outcome == "pass", result.reason
    assert (result.details["inspected"]["open"], result.details["inspected"]["merged"]) == (1, 1)
    assert server.violations == []


def test_without_a_token_a_closed_copy_is_found_by_its_commits(
    server: GitHubServer, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    upstream.commit("main", {"README.md": "hello you\n"}, "Greet (#60)", "2026-08-02T00:00:00Z")
    upstream.pull(76, {FILE: FIXED}, "Try it", "2026-08-05T00:00:00Z")
    result = scan()
    assert verdict(result, 76) == "same change"
    assert next(hit["state"] for hit in result.details["hits"] if hit["number"] == 76) == "closed"


def test_a_binary_file_beside_the_change_hides_nothing(server: GitHubServer, upstream: Upstream) -> None:
    other = changed(BEFORE, 50, "far away")
    head = upstream.pull(80, {FILE: other, "logo.bin": "\0\1\2"}, "Logo", "2026-08-05T00:00:00Z")
    hold(server, 80, head)
    result = scan()
    assert (result.outcome, result.details["compared"]) == ("pass", 1)


def test_a_second_scan_fetches_no_diff_again(server: GitHubServer, upstream: Upstream) -> None:
    hold(server, 77, upstream.pull(77, {FILE: FIXED}, "One", "2026-08-05T00:00:00Z"))
    scan()
    server.requests.clear()
    again = scan()
    assert verdict(again, 77) == "same change"
    assert len(server.requests) <= 5


def test_a_new_push_is_compared_anew(server: GitHubServer, upstream: Upstream) -> None:
    hold(server, 78, upstream.pull(78, {FILE: FIXED}, "One", "2026-08-05T00:00:00Z"))
    assert verdict(scan(), 78) == "same change"
    head = upstream.pull(78, {FILE: BEFORE, "README.md": "other\n"}, "Two", "2026-08-06T00:00:00Z")
    hold(server, 78, head, updated=instant("2026-08-06T00:00:00Z"))
    assert verdict(scan(), 78) != "same change"


def test_without_git_the_scan_says_so_and_goes_on(server: GitHubServer, patch: Patch) -> None:
    result = duplicates_gate(patch, REPO)
    assert str(result.details["inspected"]["git"]).startswith("not used: ")
    assert result.outcome == "pass"


def test_a_closed_heap_that_holds_the_patch_among_much_else_asks_nothing(
    server: GitHubServer, upstream: Upstream
) -> None:
    heap = FIXED + "".join(f"wholly new thing number {at} {at * 7}\n" for at in range(90))
    head = upstream.pull(79, {FILE: heap}, "All kinds of things", "2026-08-05T00:00:00Z")
    hold(server, 79, head, state="closed", closed=instant("2026-08-06T00:00:00Z"))
    assert verdict(scan(), 79) == "related"
    hold(server, 79, head, state="open", closed=None, updated=instant("2026-08-07T00:00:00Z"))
    assert verdict(scan(), 79) == "same change"


def test_a_token_goes_to_git_only_where_the_server_is_not_the_public_one() -> None:
    from pinproof.duplicates.mirror import Mirror, _login

    where = Path("/nowhere")
    assert _login(Mirror(where, "https://github.com/vllm-project/vllm.git", "secret")) == {}
    assert _login(Mirror(where, "http://127.0.0.1/a/b.git", "secret")) == {}
    env = _login(Mirror(where, "https://ghe.example/a/b.git", "secret"))
    assert "http.https://ghe.example/a/b.git.extraHeader" in env.values()
    assert "secret" not in "".join(env.values())
