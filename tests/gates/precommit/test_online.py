"""A hook repository that answers is used as the config says; one that does not is replaced or named."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pinproof.gate import GateResult
from pinproof.gates.precommit import precommit_gate
from pinproof.tree import Tree

from tests.gates.precommit.hooktree import hook, make_hook_tree, the_patch

MANIFEST = """
- {id: look, name: look, language: script, entry: look.sh, types: [python]}
- {id: late, name: late, language: script, entry: look.sh, stages: [manual]}
- {id: never, name: never, language: script, entry: look.sh, stages: [pre-push]}
- {id: words, name: words, language: script, entry: look.sh, types: [markdown]}
"""


def git(root: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A bare repository with hooks, at tag v1: what GitHub holds of ruff-pre-commit and the like."""
    work, bare = tmp_path / "work", tmp_path / "hooks.git"
    work.mkdir()
    (work / ".pre-commit-hooks.yaml").write_text(MANIFEST)
    (work / "look.sh").write_text('#!/bin/sh\necho "looked at $*"\n')
    (work / "look.sh").chmod(0o755)
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "hooks")
    git(work, "tag", "v1")
    git(tmp_path, "clone", "-q", "--bare", str(work), str(bare))
    return bare


def tree_with(root: Path, repo: Path, *ids: str, rev: str = "v1") -> Tree:
    remote = {"repo": f"file://{repo}", "rev": rev, "hooks": [{"id": name} for name in ids]}
    local = {"repo": "local", "hooks": [hook("mine", "true")]}
    return make_hook_tree(root / "tree", raw=json.dumps({"repos": [remote, local]}))


def found(result: GateResult) -> dict[str, tuple[str, str | None]]:
    return {item["hook"]: (item["outcome"], item["reason"]) for item in result.details["hooks"]}


def test_its_hooks_run_at_the_stages_and_on_the_files_that_it_declares(tmp_path: Path, repo: Path) -> None:
    result = precommit_gate(tree_with(tmp_path, repo, "look", "late", "never", "words"), the_patch())
    assert result.outcome == "pass"
    hooks = {item["hook"]: item for item in result.details["hooks"]}
    assert (hooks["look"]["output"], hooks["look"]["note"]) == ("looked at vllm/a.py", None)
    assert (hooks["late"]["outcome"], hooks["late"]["stage"]) == ("pass", "manual")
    assert (hooks["never"]["outcome"], hooks["never"]["reason"]) == ("skip", "runs at other stages only")
    assert (hooks["words"]["outcome"], hooks["words"]["reason"]) == ("skip", "no touched file is for it")


def test_once_cloned_it_is_not_needed_again(tmp_path: Path, repo: Path) -> None:
    tree = tree_with(tmp_path, repo, "look")
    assert precommit_gate(tree, the_patch()).outcome == "pass"
    shutil.rmtree(repo)
    assert precommit_gate(tree, the_patch()).outcome == "pass"


def test_offline_does_not_use_it_although_it_answers(tmp_path: Path, repo: Path) -> None:
    result = precommit_gate(tree_with(tmp_path, repo, "look"), the_patch(), offline=True)
    assert (result.outcome, found(result)["mine"]) == ("skip", ("pass", None))
    assert found(result)["look"][0] == "not-run"


def test_a_revision_that_it_does_not_have_stops_only_its_own_hooks(tmp_path: Path, repo: Path) -> None:
    result = precommit_gate(tree_with(tmp_path, repo, "look", rev="v9"), the_patch())
    assert (result.outcome, found(result)["mine"]) == ("skip", ("pass", None))
    outcome, reason = found(result)["look"]
    assert outcome == "not-run"
    assert "v9" in (reason or "")


def test_the_users_git_settings_and_hooks_are_left_alone(tmp_path: Path, repo: Path) -> None:
    tree = tree_with(tmp_path, repo, "look")
    root = tree.disk_root()
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "base")
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    from pinproof.tree import open_tree

    assert precommit_gate(open_tree(root), the_patch()).outcome == "pass"
    assert {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()} == before


class _BreaksOff(BaseHTTPRequestHandler):
    """An index that promises a page and goes away in the middle of it."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(b"<!doctype html><html>")
        self.wfile.flush()
        self.connection.close()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def broken_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _BreaksOff)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}/simple"
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("PIP_INDEX_URL", address), ("PIP_RETRIES", "0"), ("PIP_DEFAULT_TIMEOUT", "2")):
        monkeypatch.setenv(name, value)
    yield address
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_index_that_breaks_off_stops_only_the_hooks_that_need_it_and_half_an_environment_is_not_kept(
    tmp_path: Path, broken_index: str
) -> None:
    needs = {"id": "needs", "name": "needs", "language": "python", "entry": "true",
             "additional_dependencies": ["some-package==1"]}  # fmt: skip
    tree = make_hook_tree(tmp_path / "tree", needs, {**needs, "id": "also"}, hook("mine", "true"))
    result = precommit_gate(tree, the_patch())
    assert result.outcome == "skip"
    assert found(result)["mine"] == ("pass", None)
    for name in ("needs", "also"):
        outcome, reason = found(result)[name]
        assert outcome == "not-run"
        assert "could not be set up here: " in (reason or "")
    envs = list((tmp_path / "pinproof-cache/pre-commit").glob("repo*/py_env*"))
    assert envs == []
