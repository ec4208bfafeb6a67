"""A submission on the real vLLM 0.28.0 without the fix: records, branch and body from the real tree."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.errors import CannotCheck
from pinproof.fetch import fetch_release
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.keys import keys
from pinproof.submit.store import Store, save
from pinproof.tree import Tree, open_tree

from tests.submit.conftest import MODEL, NAME, REAL, as_of_august, git, review_of
from tests.submit.planted import store_all

BRANCH = "pinproof/kimi-k3-megamoe-situ-kwargs"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, quiet_git: None) -> Path:
    """vLLM's main as it was in August: 0.28.0 with the fix taken out, as upstream, fork and clone."""
    top = tmp_path_factory.mktemp("real")
    patch = parse_patch(REAL.read_bytes(), NAME)
    try:
        fetch_release("vllm", "0.28.0", top / "source", [patch])
    except CannotCheck as error:
        pytest.skip(f"registry out of reach: {error.message}")
    git(top / "source", "branch", "-M", "main")
    for owner in ("vllm-project", "test"):
        git(top, "clone", "-q", "--bare", str(top / "source"), f"hub/{owner}/vllm.git")
    git(top, "clone", "-q", "-o", "upstream", str(top / "hub/vllm-project/vllm.git"), "clone")
    git(top / "clone", "remote", "add", "fork", str(top / "hub/test/vllm.git"))
    return top / "clone"


@pytest.fixture
def august(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Patch:
    folder = tmp_path / "patches"
    folder.mkdir()
    (folder / "series").write_text(NAME + "\n")
    (folder / NAME).write_bytes(as_of_august(REAL.read_bytes()))
    monkeypatch.setenv("PINPROOF_PATCHES", str(folder))
    return parse_patch(as_of_august(REAL.read_bytes()), NAME)


@pytest.mark.registry
def test_the_real_case_becomes_a_branch_and_a_body(
    clone: Path, august: Patch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = open_tree(clone)
    now = datetime.now(timezone.utc) - timedelta(minutes=1)
    store = Store(tmp_path / "patches/evidence")
    store_all(store, august, tree, now)
    save(store, august, review_of(august, tree, now=now))
    assert main(["submit", "0001", str(clone), "--stdout"]) == 0
    body = capsys.readouterr().out
    assert f"**Root cause.** `{MODEL}:482` passes `activation_beta`, `activation_linear_beta`" in body
    assert "`8b1392b978f5a03c828dd1711090d7fb50958b8a (cmake/external_projects/deepgemm.cmake:33)`" in body
    assert "deep_gemm/mega/__init__.py:156" in body
    assert git(clone, "diff", "--stat", f"upstream/main..{BRANCH}").endswith(
        "2 insertions(+), 2 deletions(-)"
    )
    assert git(clone, "log", "-1", "--format=%ae", BRANCH) == "test@example.org"
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.registry
def test_evidence_of_the_release_and_of_the_checkout_have_the_same_keys(clone: Path, august: Patch) -> None:
    from pinproof.releases import release_tree

    def files(tree: Tree) -> object:
        return keys(august, tree, "contract").files

    assert files(open_tree(clone)) == files(release_tree("vllm", "0.28.0"))
