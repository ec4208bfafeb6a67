"""Apply and revert in git trees in every state that people leave them in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from pinproof.errors import PinproofError, Refused
from pinproof.patchset.apply import carry_out, plan_apply, plan_revert
from pinproof.patchset.patchfile import Patch
from pinproof.tree import open_tree

from tests.trees import MODEL, SITU, make_tree, model_file


def apply(patch: Patch, root: Path) -> None:
    tree = open_tree(root)
    carry_out(plan_apply([patch], tree, named=True), tree, series=[patch])


def revert(patch: Patch, root: Path) -> None:
    tree = open_tree(root)
    carry_out(plan_revert([patch], tree, named=True), tree, series=[patch])


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, check=True).stdout


def make_repository(root: Path) -> Path:
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        git(root, *args)
    return root


def there_and_back(patch: Patch, root: Path, status: str = "") -> None:
    """Apply, look, revert, look: bytes, index and status."""
    before = (root / MODEL).read_bytes()
    crlf = b"\r\n" in before
    apply(patch, root)
    fixed = model_file(patch, fixed=True)
    assert (root / MODEL).read_bytes() == (fixed.replace(b"\n", b"\r\n") if crlf else fixed)
    assert sorted(git(root, "status", "--porcelain").splitlines()) == sorted(
        [f"M  {MODEL}", *status.splitlines()]
    )
    revert(patch, root)
    assert (root / MODEL).read_bytes() == before
    assert git(root, "status", "--porcelain") == status


def test_a_linked_worktree(broken_git_tree: Path, patch: Patch, tmp_path: Path) -> None:
    git(broken_git_tree, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    assert (tmp_path / "linked/.git").is_file()
    there_and_back(patch, tmp_path / "linked")
    assert git(broken_git_tree, "status", "--porcelain") == ""


def test_a_submodule_of_another_repository(broken_git_tree: Path, patch: Patch, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    url = str(broken_git_tree)
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "third/vllm")
    there_and_back(patch, outer / "third/vllm")


def test_a_tree_that_holds_a_submodule(broken_git_tree: Path, patch: Patch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x").write_text("x")
    make_repository(other)
    git(
        broken_git_tree,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(other),
        "csrc/other",
    )
    git(broken_git_tree, "commit", "-qm", "a submodule")
    there_and_back(patch, broken_git_tree)


def test_a_vllm_folder_deep_inside_another_repository_is_a_plain_tree(tmp_path: Path, patch: Patch) -> None:
    outer = tmp_path / "mono"
    make_tree(outer / "vendor/vllm-src", patch, fixed=False, declares=SITU)
    make_repository(outer)
    root = outer / "vendor/vllm-src"
    assert open_tree(root).kind == "plain"
    apply(patch, root)
    assert (root / MODEL).read_bytes() == model_file(patch, fixed=True)
    assert git(outer, "status", "--porcelain") == f" M vendor/vllm-src/{MODEL}\n"


@pytest.mark.parametrize("value", ["true", "input"])
def test_autocrlf(broken_tree: Path, patch: Patch, value: str) -> None:
    git(broken_tree, "init", "-q")
    git(broken_tree, "config", "core.autocrlf", value)
    git(broken_tree, "config", "core.safecrlf", "false")
    git(broken_tree, "add", "-A")
    git(broken_tree, "commit", "-qm", "base")
    if value == "true":
        (broken_tree / MODEL).unlink()
        git(broken_tree, "checkout", "-q", "--", MODEL)
        assert b"\r\n" in (broken_tree / MODEL).read_bytes()
    there_and_back(patch, broken_tree)
    assert "\r" not in git(broken_tree, "show", f"HEAD:{MODEL}")


def test_a_crlf_attribute(broken_tree: Path, patch: Patch) -> None:
    (broken_tree / ".gitattributes").write_text("*.py text eol=crlf\n")
    make_repository(broken_tree)
    (broken_tree / MODEL).unlink()
    git(broken_tree, "checkout", "-q", "--", MODEL)
    there_and_back(patch, broken_tree)


def test_a_sparse_checkout(broken_git_tree: Path, patch: Patch) -> None:
    (broken_git_tree / "docs").mkdir()
    (broken_git_tree / "docs/a.md").write_text("a")
    git(broken_git_tree, "add", "-A")
    git(broken_git_tree, "commit", "-qm", "docs")
    git(broken_git_tree, "sparse-checkout", "set", "vllm")
    assert not (broken_git_tree / "docs").exists()
    there_and_back(patch, broken_git_tree)


def test_a_file_left_out_by_a_sparse_checkout_is_not_there_and_not_made(
    broken_git_tree: Path, patch: Patch
) -> None:
    git(broken_git_tree, "sparse-checkout", "set", "--no-cone", "/*", "!vllm/models")
    with pytest.raises(Refused, match="absent"):
        apply(patch, broken_git_tree)
    assert not (broken_git_tree / MODEL).exists()


def test_other_staged_changes_stay_staged_and_apart(broken_git_tree: Path, patch: Patch) -> None:
    (broken_git_tree / "vllm/__init__.py").write_text("# staged\n")
    (broken_git_tree / "new.py").write_text("# new\n")
    git(broken_git_tree, "add", "-A")
    there_and_back(patch, broken_git_tree, git(broken_git_tree, "status", "--porcelain"))


def test_a_detached_head(broken_git_tree: Path, patch: Patch) -> None:
    git(broken_git_tree, "checkout", "-q", "--detach")
    there_and_back(patch, broken_git_tree)


def test_in_the_middle_of_a_rebase_that_stopped_on_another_file(broken_git_tree: Path, patch: Patch) -> None:
    root = broken_git_tree
    git(root, "checkout", "-qb", "side")
    (root / "vllm/__init__.py").write_text("# side\n")
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "-")
    (root / "vllm/__init__.py").write_text("# main\n")
    git(root, "commit", "-qam", "main")
    subprocess.run(["git", "rebase", "-q", "side"], cwd=root, capture_output=True, check=False)
    status = git(root, "status", "--porcelain")
    assert status.startswith("AA ") or status.startswith("UU ")
    there_and_back(patch, root, status)


def test_a_touched_file_with_merge_conflicts_is_refused(broken_git_tree: Path, patch: Patch) -> None:
    root = broken_git_tree
    blob = git(root, "rev-parse", f"HEAD:{MODEL}").strip()
    lines = "".join(f"100644 {blob} {stage}\t{MODEL}\n" for stage in (1, 2, 3))
    info = f"0 {'0' * 40}\t{MODEL}\n" + lines
    subprocess.run(["git", "update-index", "--index-info"], cwd=root, input=info, text=True, check=True)
    before = (root / MODEL).read_bytes()
    with pytest.raises(Refused, match="uncommitted changes"):
        apply(patch, root)
    assert (root / MODEL).read_bytes() == before


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_an_edit_hidden_from_git_is_still_an_edit(broken_git_tree: Path, patch: Patch, flag: str) -> None:
    model = broken_git_tree / MODEL
    git(broken_git_tree, "update-index", flag, MODEL)
    edited = model.read_bytes() + b"# mine\n"
    model.write_bytes(edited)
    with pytest.raises(Refused, match="may have uncommitted changes"):
        apply(patch, broken_git_tree)
    assert model.read_bytes() == edited


def test_another_git_at_work_changes_neither_index_nor_worktree(broken_git_tree: Path, patch: Patch) -> None:
    (broken_git_tree / ".git/index.lock").write_bytes(b"")
    before = (broken_git_tree / MODEL).read_bytes()
    with pytest.raises(PinproofError, match=r"index\.lock"):
        apply(patch, broken_git_tree)
    assert (broken_git_tree / MODEL).read_bytes() == before
    (broken_git_tree / ".git/index.lock").unlink()
    assert git(broken_git_tree, "status", "--porcelain") == ""
    there_and_back(patch, broken_git_tree)


def test_a_stale_index_is_no_obstacle(broken_git_tree: Path, patch: Patch) -> None:
    model = broken_git_tree / MODEL
    os.utime(model, (1, 1))
    there_and_back(patch, broken_git_tree)


def test_a_repository_without_a_commit_is_refused_with_the_reason(broken_tree: Path, patch: Patch) -> None:
    git(broken_tree, "init", "-q")
    with pytest.raises(Refused, match=r"not tracked|uncommitted"):
        apply(patch, broken_tree)
    assert (broken_tree / MODEL).read_bytes() == model_file(patch, fixed=False)


def test_an_ignored_file_is_not_tracked_and_refused(broken_tree: Path, patch: Patch) -> None:
    (broken_tree / ".gitignore").write_text("models/\n")
    make_repository(broken_tree)
    with pytest.raises(Refused, match="not tracked"):
        apply(patch, broken_tree)


def test_a_tracked_link_inside_the_tree_is_not_replaced_by_a_file(broken_tree: Path, patch: Patch) -> None:
    model = broken_tree / MODEL
    model.rename(model.with_name("real.py"))
    model.symlink_to("real.py")
    make_repository(broken_tree)
    before = (model.with_name("real.py")).read_bytes()
    with pytest.raises(PinproofError):
        apply(patch, broken_tree)
    assert model.is_symlink()
    assert model.with_name("real.py").read_bytes() == before
    assert git(broken_tree, "status", "--porcelain") == ""


def test_programs_named_by_the_checkouts_config_and_hooks_do_not_run(
    broken_git_tree: Path, patch: Patch, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    touch = f"touch {ran} #"
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process", "core.editor",
                "core.pager", "diff.external", "core.sshCommand", "gpg.program"):  # fmt: skip
        git(broken_git_tree, "config", key, touch)
    git(broken_git_tree, "config", "filter.x.required", "true")
    (broken_git_tree / ".git/info/attributes").write_text("*.py filter=x\n")
    for hook in ("post-index-change", "pre-commit", "applypatch-msg", "post-checkout"):
        path = broken_git_tree / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {ran}\n")
        path.chmod(0o755)
    apply(patch, broken_git_tree)
    revert(patch, broken_git_tree)
    assert not ran.exists()


def test_a_work_tree_pointed_elsewhere_is_refused(
    broken_git_tree: Path, patch: Patch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    git(broken_git_tree, "config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(PinproofError, match="not a git work tree of its own"):
        apply(patch, broken_git_tree)


def test_a_broken_repository_is_one_line(broken_git_tree: Path, patch: Patch) -> None:
    (broken_git_tree / ".git/HEAD").write_text("nonsense")
    before = (broken_git_tree / MODEL).read_bytes()
    with pytest.raises(PinproofError, match="git"):
        apply(patch, broken_git_tree)
    assert (broken_git_tree / MODEL).read_bytes() == before


def test_a_killed_runs_unstaged_change_is_the_series_own(broken_git_tree: Path, patch: Patch) -> None:
    (broken_git_tree / MODEL).write_bytes(model_file(patch, fixed=True))
    assert git(broken_git_tree, "status", "--porcelain") == f" M {MODEL}\n"
    revert(patch, broken_git_tree)
    assert git(broken_git_tree, "status", "--porcelain") == ""


def test_a_patch_that_is_in_no_series_can_be_taken_back(broken_git_tree: Path, patch: Patch) -> None:
    tree = open_tree(broken_git_tree)
    carry_out(plan_apply([patch], tree, named=True), tree, series=[])
    carry_out(plan_revert([patch], tree, named=True), tree, series=[])
    assert git(broken_git_tree, "status", "--porcelain") == ""
