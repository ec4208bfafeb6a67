"""`pinproof duplicates` as a person or a script runs it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.duplicates.decisions import FILE

from tests.conftest import REPO
from tests.duplicates.conftest import kimi_pull
from tests.duplicates.github_server import SECRET, GitHubServer
from tests.duplicates.synthetic import TODAY

NAME = "0001-kimi-k3-megamoe-situ-kwargs.patch"


@pytest.fixture
def patches(tmp_path: Path) -> Path:
    """A patch folder of the test's own."""
    folder = tmp_path / "patches"
    shutil.copytree(REPO / "patches/vllm", folder, ignore=shutil.ignore_patterns(FILE, "evidence"))
    return folder


def run(patches: Path, *arguments: str) -> int:
    return main(["duplicates", *arguments, "--patches", str(patches), "--since", "2026-01-01"])


def test_a_clean_scan_ends_with_zero_and_tells_the_searches_on_demand(
    server: GitHubServer, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(patches) == 0
    out = capsys.readouterr().out
    assert f"{NAME} in vllm-project/vllm: pass" in out
    assert "inspected: " in out
    assert "searches run" in out
    assert "gh pr list" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert run(patches, "-v") == 0
    assert "gh pr list --repo vllm-project/vllm --state open --search" in capsys.readouterr().out


def test_what_must_be_answered_has_its_link_and_the_way_to_see_both(
    server: GitHubServer, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pulls[52500] = kimi_pull(draft=True)
    server.changed()
    assert run(patches) == 1
    out = capsys.readouterr().out
    assert "#52500  open, draft  same change" in out
    assert "/vllm-project/vllm/pull/52500\n" in out
    assert "--diff 52500" in out
    assert run(patches, "0001", "--diff", "52500") == 0
    both = capsys.readouterr().out
    assert both.count("situ_linear_beta=self.activation_linear_beta") == 2


def test_a_diff_of_what_no_scan_has_seen_is_a_usage_error(server: GitHubServer, patches: Path) -> None:
    assert run(patches, "0001", "--diff", "4") == 2


def test_the_result_is_kept_as_evidence_but_not_of_an_old_index(server: GitHubServer, patches: Path) -> None:
    kept = patches / "evidence" / NAME.removesuffix(".patch") / "duplicates.json"
    assert run(patches, "0001", "--offline") == 5
    assert not kept.exists()
    assert run(patches, "0001") == 0
    record = json.loads(kept.read_text())
    assert (record["gate"], record["outcome"], record["tree"]) == ("duplicates", "pass", None)
    assert SECRET not in kept.read_text()


def test_json_is_one_versioned_document(
    server: GitHubServer, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pulls[52500] = kimi_pull()
    server.changed()
    assert run(patches, "0001", "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "pinproof.duplicates/1"
    (result,) = answer["results"]
    assert (result["gate"], result["outcome"]) == ("duplicates", "fail")
    assert {"queries", "inspected", "hits", "gaps", "date", "requests"} <= set(result["details"])


def test_a_reason_is_written_down_and_counts(
    server: GitHubServer, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pulls[52500] = kimi_pull(state="closed", closed=TODAY)
    server.changed()
    assert run(patches, "0001") == 1
    assert f'tools/duplicates.sh {NAME} --not-a-duplicate 52500 --because "..."' in capsys.readouterr().out
    assert (
        run(patches, "0001", "--not-a-duplicate", "52500", "--because", "closed by its author, never merged")
        == 0
    )
    (decision,) = json.loads((patches / FILE).read_text())["decisions"]
    assert (decision["number"], decision["by"]) == (52500, "Test Person <test@example.org>")
    assert run(patches, "0001") == 0
    assert "answered: closed by its author, never merged" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["0001", "--not-a-duplicate", "7"], "go together"),
        (["--not-a-duplicate", "7", "--because", "another model altogether"], "which patch?"),
        (["0001", "--not-a-duplicate", "7", "--because", "another model altogether"], "no scan has seen #7"),
        (["0001", "--repo", "../etc"], "is not a repository"),
        (["0001", "--since", "never"], "is not a day"),
    ],
)
def test_wrong_use_is_told_with_exit_code_two(
    server: GitHubServer, patches: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    code = main(["duplicates", *arguments, "--patches", str(patches)])
    assert code == 2
    assert says in capsys.readouterr().err
    assert not (patches / FILE).exists()


def test_what_could_not_be_seen_ends_with_five_and_not_with_zero(
    server: GitHubServer, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.budget = 1
    assert run(patches) == 5
    out = capsys.readouterr().out
    assert "not seen: open pull requests not read to the end" in out
    assert f"-> tools/duplicates.sh {NAME}" in out


def test_the_paragraph_is_printed_alone(
    server: GitHubServer, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(patches, "0001", "--markdown") == 0
    out = capsys.readouterr().out
    assert out.startswith("**Duplicate-work check** (")
    assert SECRET not in out
