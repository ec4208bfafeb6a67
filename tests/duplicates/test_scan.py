"""The whole scan against a local GitHub: what passes, what fails, and what only looks like passing."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from pinproof.duplicates import decisions
from pinproof.duplicates.scan import duplicates_gate
from pinproof.duplicates.update import CLOSER_LOOK
from pinproof.errors import InputError
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.paths import cache_dir

from tests.duplicates.conftest import kimi_pull, made_pull
from tests.duplicates.github_server import SECRET, GitHubServer, issue
from tests.duplicates.synthetic import TODAY, Made

ALL = datetime(2020, 1, 1, tzinfo=timezone.utc)


def hold(server: GitHubServer, *pulls: Made) -> None:
    server.pulls.update({made.number: made for made in pulls})
    server.changed()


def scan(patch: Patch, folder: Path | None = None, *, offline: bool = False) -> GateResult:
    result = duplicates_gate(patch, since=ALL, folder=folder, offline=offline)
    assert msgspec.json.decode(msgspec.json.encode(result), type=GateResult) == result
    return result


def hit(result: GateResult, number: int) -> dict[str, object]:
    return next(item for item in result.details["hits"] if item["number"] == number)


def test_a_repository_without_the_change_passes_and_says_what_was_looked_at(
    server: GitHubServer, patch: Patch
) -> None:
    # patch 0001 says that it is #52445, which the small repository has as another, made-up change
    result = scan(patch)
    assert result.outcome == "pass", result.summary
    inspected = result.details["inspected"]
    assert inspected["open"] == inspected["open_total"] == len(server.ordered(opened=True))
    assert inspected["merged"] + inspected["closed_unmerged"] == len(server.ordered(opened=False))
    assert result.details["compared"] == CLOSER_LOOK
    assert result.details["requests"] == len(server.requests)
    assert server.violations == []


def test_the_same_change_in_an_open_pull_request_fails_until_it_is_answered(
    server: GitHubServer, patch: Patch, tmp_path: Path
) -> None:
    hold(server, kimi_pull())
    result = scan(patch, tmp_path)
    assert result.outcome == "fail"
    assert hit(result, 52500)["verdict"] == "same change"
    assert str(result.clear).startswith("gh pr view 52500")
    decide(tmp_path, result, 52500)
    assert scan(patch, tmp_path).outcome == "pass"


@pytest.mark.parametrize("state", ["merged", "closed"])
def test_the_same_change_merged_or_closed_needs_a_reason(
    server: GitHubServer, patch: Patch, tmp_path: Path, state: str
) -> None:
    hold(server, kimi_pull(state=state, closed=TODAY))
    result = scan(patch, tmp_path)
    assert result.outcome == "fail"
    assert "--not-a-duplicate 52500" in str(result.clear)
    decide(tmp_path, result, 52500)
    again = scan(patch, tmp_path)
    assert again.outcome == "pass"
    assert hit(again, 52500)["because"] == "it was reverted two days later"


def decide(folder: Path, result: GateResult, number: int) -> None:
    decisions.record(
        folder,
        decisions.Decision(
            patch="0001", change=result.details["change"], repo="vllm-project/vllm", number=number,
            head=str(hit(result, number)["head"]), because="it was reverted two days later", by="P",
            date="2026-11-30",
        ),
    )  # fmt: skip


def test_the_merged_pull_request_that_the_patch_comes_from_is_no_obstacle(
    server: GitHubServer, patch: Patch
) -> None:
    hold(server, kimi_pull(52445, state="merged", closed=TODAY))
    result = scan(patch)
    assert result.outcome == "pass"
    assert hit(result, 52445)["verdict"] == "same change"
    assert hit(result, 52445)["declared"] is True


def test_an_open_pull_request_that_the_patch_comes_from_is_one(server: GitHubServer, patch: Patch) -> None:
    hold(server, kimi_pull(52445))
    assert scan(patch).outcome == "fail"


def test_the_prescribed_searches_are_recorded_with_text_and_count(server: GitHubServer, patch: Patch) -> None:
    server.issues[52035] = issue(52035, "Pin", "Moved.", ["competing with #41234", "x"])
    text = "It died: fp8_fp4_mega_moe() got an unexpected keyword argument 'activation_beta'"
    server.issues[52400] = issue(52400, "Kimi K3 dies", text, [])
    hold(server, made_pull(41234, body="about 52035"))
    result = duplicates_gate(patch, since=ALL, queries=["flux in:title"])
    found = {search["command"]: search["count"] for search in result.details["queries"]}
    assert found["gh issue view 52035 --repo vllm-project/vllm --comments"] == 2
    assert found["gh pr list --repo vllm-project/vllm --state open --search '52035 in:body'"] == 1
    assert found["gh pr list --repo vllm-project/vllm --state open --search 'flux in:title'"] == 1
    assert [count for command, count in found.items() if command.startswith("gh issue list")] == [1]
    assert any("situ_beta" in command for command in found)
    named = {item["number"]: item["verdict"] for item in result.details["hits"] if item["kind"] == "issue"}
    assert named == {52400: "related"}


def test_a_number_that_is_a_pull_request_is_told_as_one(server: GitHubServer, patch: Patch) -> None:
    hold(server, made_pull(52035, state="merged", closed=TODAY))
    first = scan(patch).details["queries"][0]
    assert (first["count"], first["note"]) == (0, "merged pull request, comments counted")


def test_searches_that_are_too_heavy_together_are_split(server: GitHubServer, patch: Patch) -> None:
    scan(patch)
    server.faults.extend([None, None, (502, {}, ""), (502, {}, "")])
    result = scan(patch)
    assert result.outcome == "pass", result.reason
    assert all(search["count"] is not None for search in result.details["queries"])


def test_a_patch_without_an_issue_says_that_two_searches_have_none(
    server: GitHubServer, patch: Patch
) -> None:
    bare = msgspec.structs.replace(patch, prose="No numbers.", fields={})
    first = scan(bare).details["queries"][0]
    assert (first["count"], first["note"]) == (None, "the patch names no issue")


def test_a_second_scan_asks_for_the_news_only(server: GitHubServer, patch: Patch) -> None:
    scan(patch)
    for at in range(50):
        made = list(server.pulls.values())[at]
        made.updated = TODAY + timedelta(minutes=at + 1)
    server.changed()
    assert scan(patch).details["requests"] <= 5


def test_a_scan_that_was_stopped_is_skip_and_goes_on_later(server: GitHubServer, patch: Patch) -> None:
    server.budget = 2
    stopped = scan(patch)
    assert stopped.outcome == "skip"
    assert "not read to the end" in str(stopped.reason)
    assert stopped.clear == f"tools/duplicates.sh {patch.name}"
    server.budget = None
    assert scan(patch).outcome == "pass"


def test_what_was_seen_before_a_stop_can_still_fail_the_gate(server: GitHubServer, patch: Patch) -> None:
    hold(server, kimi_pull(updated=TODAY + timedelta(days=1)))
    scan(patch)
    server.budget = 0
    assert scan(patch).outcome == "fail"


def test_searches_that_cannot_be_run_make_it_skip(server: GitHubServer, patch: Patch) -> None:
    scan(patch)
    server.faults.extend([None, None, (403, {}, "no search for you")])
    result = scan(patch)
    assert result.outcome == "skip"
    assert all(search["count"] is None for search in result.details["queries"])


def test_without_a_token_titles_are_seen_and_files_are_not(
    server: GitHubServer, patch: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    hold(server, kimi_pull())
    result = scan(patch)
    assert hit(result, 52500)["verdict"] == "same change"  # its diff was looked at more closely
    assert {method for method, _ in server.requests} == {"GET"}
    assert set(server.authorizations) == {None}
    assert server.violations == []


def test_without_a_token_a_clean_scan_is_skip(
    server: GitHubServer, patch: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    result = scan(patch)
    assert result.outcome == "skip"
    assert "without a token" in str(result.reason)
    assert "gh auth login" in str(result.reason)


def test_offline_uses_the_index_tells_its_age_and_never_passes(server: GitHubServer, patch: Patch) -> None:
    nothing = scan(patch, offline=True)
    assert (nothing.outcome, nothing.details["requests"]) == ("skip", 0)
    assert "there is no index yet" in str(nothing.reason)
    hold(server, kimi_pull())
    scan(patch)
    server.requests.clear()
    result = scan(patch, offline=True)
    assert result.outcome == "fail"
    assert "offline: the index is of 20" in result.details["gaps"][0]
    assert server.requests == []


def test_an_unknown_repository_is_a_usage_error(server: GitHubServer, patch: Patch) -> None:
    with pytest.raises(InputError, match="no repository nobody/nothing"):
        duplicates_gate(patch, "nobody/nothing")


def test_hostile_pull_requests_do_no_harm(server: GitHubServer, patch: Patch) -> None:
    bodies = ["'\"; DROP TABLE text; -- NEAR(", "\x1b]0;x\x07\u202e", "<script>", "A" * 1_048_576, "\ud800"]
    for at, body in enumerate(bodies):
        hostile = {f"{body[:9]}.py": body[:2000]}
        hold(server, kimi_pull(60_000 + at, title=body[:200], body=body, patches=hostile))
    assert scan(patch).outcome == "pass"


def test_the_token_is_in_no_file_and_no_result(
    server: GitHubServer, patch: Patch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from pinproof.duplicates.report import markdown_paragraph, show

    hold(server, kimi_pull())
    result = scan(patch)
    server.faults.extend([(401, {}, f"bad {SECRET}")] * 20)
    bad = scan(patch)
    for item in (result, bad):
        show(item)
        assert SECRET.encode() not in msgspec.json.encode(item)
        assert SECRET not in markdown_paragraph(item.details)
    assert SECRET not in "".join(capfd.readouterr())
    files = [path for folder in (cache_dir(), tmp_path) for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".sqlite" for path in files)
    assert all(SECRET.encode() not in path.read_bytes() for path in files)
