"""Index and worktree agree after every kill, and staging changes nothing but contents."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pinproof.errors import InputError, PinproofError
from pinproof.gitfolder import check_worktree
from pinproof.patchset import gitindex
from pinproof.patchset.apply import carry_out, plan_apply, plan_revert, settle_tree
from pinproof.patchset.change import text_state
from pinproof.patchset.indexlock import clear_index_lock, index_lock
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.tree import open_tree

from tests.patchset.test_apply_git import apply, git, revert
from tests.security.attacks import patch_text
from tests.trees import MODEL

# Applies or reverts the patch and dies, without any clearing away, when `where` is called.
DIES = """
import os, sys
from pathlib import Path
from pinproof.patchset import apply, gitindex, indexlock, journal
from pinproof.patchset.series import find_patch
from pinproof.tree import open_tree
root, module, where, reverse = sys.argv[1:]
setattr(globals()[module], where, lambda *a, **k: os.kill(os.getpid(), 9))
tree, patch = open_tree(root), find_patch("0001")
planned = apply.plan_revert if reverse == "1" else apply.plan_apply
plan = planned([patch], tree, named=True)
apply.carry_out(plan, tree, series=[patch])
"""


def die(root: Path, module: str, where: str, *, reverse: bool = False) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(root), module, where, str(int(reverse))], check=False
    )
    assert done.returncode == -signal.SIGKILL


def left_behind(root: Path) -> list[str]:
    return [str(path) for path in root.rglob("*") if "pinproof" in path.name or path.name == "index.lock"]


@pytest.mark.parametrize(
    ("module", "where"), [("apply", "stage"), ("gitindex", "sync"), ("journal", "_clear")]
)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_run_killed_before_during_or_after_staging_is_staged_by_the_next(
    broken_git_tree: Path, patch: Patch, module: str, where: str, reverse: bool
) -> None:
    if reverse:
        apply(patch, broken_git_tree)
    die(broken_git_tree, module, where, reverse=reverse)
    assert (broken_git_tree / ".git/index.lock").exists()
    assert settle_tree(open_tree(broken_git_tree)) == "finished an interrupted run"
    assert git(broken_git_tree, "status", "--porcelain") == ("" if reverse else f"M  {MODEL}\n")
    assert left_behind(broken_git_tree) == []


def test_a_run_killed_before_the_change_leaves_no_lock(broken_git_tree: Path) -> None:
    die(broken_git_tree, "apply", "write_all")
    assert (broken_git_tree / ".git/index.lock").exists()
    settle_tree(open_tree(broken_git_tree))
    assert left_behind(broken_git_tree) == []
    assert git(broken_git_tree, "status", "--porcelain") == ""


def test_a_lock_of_another_git_is_left_alone(broken_git_tree: Path) -> None:
    folder = broken_git_tree / ".git"
    (folder / "index.lock").write_bytes(b"theirs")
    (folder / "pinproof-lock").touch()
    clear_index_lock(folder)
    assert (folder / "index.lock").read_bytes() == b"theirs"
    with pytest.raises(InputError, match="another git is at work"), index_lock(folder):
        pass
    assert sorted(path.name for path in folder.glob("*lock*")) == ["index.lock"]


def test_no_git_stages_while_the_lock_is_held(broken_git_tree: Path) -> None:
    with index_lock(check_worktree(broken_git_tree)):
        done = subprocess.run(["git", "add", "."], cwd=broken_git_tree, capture_output=True, check=False)
    assert b"index.lock" in done.stderr
    git(broken_git_tree, "add", ".")


def test_a_failing_object_store_changes_nothing(
    broken_git_tree: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (broken_git_tree / MODEL).read_bytes()
    from pinproof.git import git as real

    def full(args: list[str], **options: object) -> object:
        if args[0] == "hash-object" and "-w" in args:
            raise InputError("git hash-object failed: no space left")
        return real(args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(gitindex, "git", full)
    with pytest.raises(PinproofError, match="no space"):
        apply(patch, broken_git_tree)
    assert (broken_git_tree / MODEL).read_bytes() == before
    assert git(broken_git_tree, "status", "--porcelain") == ""
    assert left_behind(broken_git_tree) == []


def test_an_unstaged_chmod_stays_unstaged(broken_git_tree: Path, patch: Patch) -> None:
    (broken_git_tree / MODEL).chmod(0o755)
    apply(patch, broken_git_tree)
    assert git(broken_git_tree, "ls-files", "-s", MODEL).startswith("100644 ")
    assert git(broken_git_tree, "status", "--porcelain") == f"MM {MODEL}\n"


def test_ctrl_c_while_files_change_comes_after_the_change(
    broken_git_tree: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pinproof.patchset import apply as applying
    from pinproof.patchset.gitindex import stage as real

    def interrupted(*args: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(applying, "stage", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apply(patch, broken_git_tree)
    assert git(broken_git_tree, "status", "--porcelain") == f"M  {MODEL}\n"
    assert "the change is finished" in capsys.readouterr().err
    assert left_behind(broken_git_tree) == []


def deletion() -> Patch:
    raw = patch_text("vllm/gone.py", b"x\n", b"y\n")
    raw = raw.replace(b"index ", b"deleted file mode 100755\nindex ").replace(b" 100644\n", b"\n")
    raw = raw.replace(b"+++ b/vllm/gone.py", b"+++ /dev/null")
    raw = raw.replace(b"@@ -1 +1 @@\n-x\n+y\n", b"@@ -1 +0,0 @@\n-x\n")
    return parse_patch(raw, "0009-a-deletion.patch")


@pytest.mark.parametrize("kind", ["git", "plain"])
def test_a_patch_that_only_deletes_is_applied_twice_and_reverted(broken_tree: Path, kind: str) -> None:
    gone = broken_tree / "vllm/gone.py"
    gone.write_bytes(b"x\n")
    gone.chmod(0o755)
    if kind == "git":
        for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
            git(broken_tree, *args)
    tree = open_tree(broken_tree)
    carry_out(plan_apply([deletion()], tree, named=True, force=True), tree, series=[deletion()])
    assert not gone.exists()
    assert text_state(open_tree(broken_tree), deletion()) == "applied"
    revert(deletion(), broken_tree)
    assert gone.read_bytes() == b"x\n"
    assert gone.stat().st_mode & 0o100
    if kind == "git":
        assert git(broken_tree, "status", "--porcelain") == ""


@pytest.mark.parametrize("variable", ["GIT_LITERAL_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_GLOB_PATHSPECS"])
def test_the_callers_way_to_read_paths_changes_nothing(
    broken_git_tree: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    apply(patch, broken_git_tree)
    monkeypatch.delenv(variable)
    assert git(broken_git_tree, "status", "--porcelain") == f"M  {MODEL}\n"


def test_a_split_index_stays_one(broken_git_tree: Path, patch: Patch) -> None:
    git(broken_git_tree, "update-index", "--split-index")
    apply(patch, broken_git_tree)
    assert git(broken_git_tree, "status", "--porcelain") == f"M  {MODEL}\n"
    git(broken_git_tree, "fsck", "--strict")


def test_a_separate_git_folder_that_points_back_is_taken(
    broken_tree: Path, patch: Patch, tmp_path: Path
) -> None:
    git(broken_tree, "init", "-q", f"--separate-git-dir={tmp_path / 'elsewhere'}")
    git(broken_tree, "add", "-A")
    git(broken_tree, "commit", "-qm", "base")
    with pytest.raises(PinproofError, match="does not point back"):
        apply(patch, broken_tree)
    git(broken_tree, "config", "core.worktree", str(broken_tree))
    apply(patch, broken_tree)
    carry_out(
        plan_revert([patch], open_tree(broken_tree), named=True), open_tree(broken_tree), series=[patch]
    )
    assert git(broken_tree, "status", "--porcelain") == ""
