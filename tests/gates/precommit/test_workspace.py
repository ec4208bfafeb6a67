"""Hooks get a faithful git copy of the tree with the patch staged; the tree itself is only read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from pinproof.gates.precommit import workspace as module
from pinproof.gates.precommit.workspace import workspace
from pinproof.paths import cache_dir
from pinproof.tree import Tree, open_tree

from tests.gates.precommit.hooktree import AFTER, BEFORE, make_hook_tree, snapshot

CHANGES: dict[str, bytes | None] = {"vllm/a.py": AFTER}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return make_hook_tree(tmp_path / "tree")


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True).stdout


def test_the_patch_is_staged_on_a_commit_of_the_tree_as_it_is(tree: Tree) -> None:
    before = snapshot(tree.disk_root())
    with workspace(tree, CHANGES) as space:
        assert (space.root / "vllm/a.py").read_bytes() == AFTER
        assert git(space.root, "show", "HEAD:vllm/a.py").encode() == BEFORE
        assert git(space.root, "diff", "--cached", "--name-only").split() == ["vllm/a.py"]
        assert git(space.root, "status", "--porcelain", "--untracked-files=all").split() == ["M", "vllm/a.py"]
    assert snapshot(tree.disk_root()) == before


def test_new_and_deleted_files_are_staged_too(tree: Tree) -> None:
    with workspace(tree, {"vllm/new/b.py": b"y = 1\n", "docs/index.md": None}) as space:
        assert git(space.root, "diff", "--cached", "--name-status").split() == [
            "D",
            "docs/index.md",
            "A",
            "vllm/new/b.py",
        ]


def test_what_hooks_did_is_gone_at_the_next_run_but_ignored_caches_stay(tree: Tree) -> None:
    with workspace(tree, CHANGES) as space:
        (space.root / "vllm/__init__.py").write_text("spoilt = 1\n")
        (space.root / "left.txt").write_text("")
        (space.root / "cache.log").write_text("kept")
    with workspace(tree, {}) as space:
        assert (space.root / "vllm/a.py").read_bytes() == BEFORE
        assert (space.root / "vllm/__init__.py").read_bytes() == b""
        assert not (space.root / "left.txt").exists()
        assert (space.root / "cache.log").exists()


def test_the_next_run_sees_what_changed_in_the_tree(tree: Tree) -> None:
    root = tree.disk_root()
    with workspace(tree, {}):
        pass
    (root / "vllm/a.py").write_bytes(b"x = 9\n")
    (root / "vllm/c.py").write_bytes(b"z = 1\n")
    (root / "docs/index.md").unlink()
    with workspace(tree, {}) as space:
        assert (space.root / "vllm/a.py").read_bytes() == b"x = 9\n"
        assert sorted(git(space.root, "ls-files").split()) == [
            ".gitignore", ".pre-commit-config.yaml", "vllm/__init__.py", "vllm/a.py", "vllm/c.py",
        ]  # fmt: skip
        assert git(space.root, "status", "--porcelain") == ""


def test_only_what_changed_is_copied_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    with workspace(tree, {}):
        pass
    copied: list[str] = []
    monkeypatch.setattr(module, "_copy", lambda source, target, mode: copied.append(source.name))
    (tree.disk_root() / "vllm/__init__.py").write_bytes(b"# one\n")
    with workspace(tree, {}):
        assert copied == ["__init__.py"]


def test_a_copy_whose_repository_was_broken_is_made_anew(tree: Tree) -> None:
    with workspace(tree, CHANGES) as space:
        (space.root / ".git" / "HEAD").unlink()
    with workspace(tree, CHANGES) as space:
        assert git(space.root, "show", "HEAD:vllm/a.py").encode() == BEFORE


def test_a_broken_copy_never_makes_git_reset_a_repository_around_the_cache(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    git(home, "init", "-q")
    (home / "notes").write_text("old")
    git(home, "add", "notes")
    git(home, "commit", "-qm", "base")
    (home / "notes").write_text("unsaved work")
    monkeypatch.setenv("PINPROOF_CACHE", str(home / "cache"))
    with workspace(tree, CHANGES) as space:
        (space.root / ".git" / "HEAD").unlink()
    with workspace(tree, CHANGES):
        pass
    assert (home / "notes").read_text() == "unsaved work"


def test_an_sdists_build_products_are_not_tracked_but_its_listed_sources_are(tree: Tree) -> None:
    root = tree.disk_root()
    for name in ("PKG-INFO", "vllm/build.log", "vllm/listed.log", "vllm.egg-info/SOURCES.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("PKG-INFO\nvllm/listed.log\nvllm.egg-info/SOURCES.txt\n")
    with workspace(open_tree(root), {}) as space:
        tracked = git(space.root, "ls-files").split()
    assert "vllm/listed.log" in tracked
    assert not {"PKG-INFO", "vllm/build.log"} & set(tracked)


def test_a_checkout_gives_its_tracked_and_new_files_and_not_the_ignored_ones(tree: Tree) -> None:
    root = tree.disk_root()
    git(root, "init", "-q")
    (root / "forced.log").write_text("")
    git(root, "add", "-A")
    git(root, "add", "-f", "forced.log")
    git(root, "commit", "-qm", "base")
    (root / "vllm/new.py").write_text("")
    (root / "noise.log").write_text("")
    before = snapshot(root)
    with workspace(open_tree(root), CHANGES) as space:
        names = git(space.root, "ls-files").split()
    assert {"forced.log", "vllm/new.py"} <= set(names)
    assert "noise.log" not in names
    assert snapshot(root) == before


@pytest.mark.parametrize("target", ["/etc/hostname", "../outside"])
def test_a_link_that_leaves_the_tree_is_not_copied(tree: Tree, target: str) -> None:
    root = tree.disk_root()
    (root.parent / "outside").write_text("mine")
    (root / "link").symlink_to(target)
    (root / "inside").symlink_to("vllm/a.py")
    with workspace(tree, {}) as space:
        assert not os.path.lexists(space.root / "link")
        assert (space.root / "inside").is_symlink()


def test_scripts_stay_executable(tree: Tree) -> None:
    script = tree.disk_root() / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    with workspace(tree, {}) as space:
        assert os.access(space.root / "run.sh", os.X_OK)


def test_what_is_written_beside_the_copy_is_noticed_and_removed(tree: Tree) -> None:
    with workspace(tree, {}) as space:
        (space.root.parent / "escaped").write_text("")
        assert space.trespass() == "a hook wrote outside the tree: ../escaped (removed)"
        assert space.trespass() is None


def test_a_change_of_the_tree_during_the_run_is_noticed(tree: Tree) -> None:
    with workspace(tree, {}) as space:
        (tree.disk_root() / "docs/index.md").write_text("other")
        assert "docs/index.md changed in the tree" in (space.trespass() or "")


def test_copies_of_trees_that_are_gone_are_removed(tree: Tree, tmp_path: Path) -> None:
    other = make_hook_tree(tmp_path / "other")
    with workspace(other, {}) as space:
        old = space.root.parent
    (tmp_path / "other").rename(tmp_path / "moved")
    with workspace(tree, {}) as space:
        assert [path.name for path in cache_dir("check").iterdir()] == [space.root.parent.name]
    assert not old.exists()


def test_a_new_copy_starts_with_the_mypy_cache_of_the_last_tree(tree: Tree, tmp_path: Path) -> None:
    with workspace(tree, {}) as space:
        (space.root / ".mypy_cache").mkdir()
        (space.root / ".mypy_cache/x.json").write_text("{}")
    with workspace(make_hook_tree(tmp_path / "other"), {}) as space:
        assert (space.root / ".mypy_cache/x.json").read_text() == "{}"


def test_a_cache_inside_the_tree_is_not_copied_into_itself(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINPROOF_CACHE", str(tree.disk_root() / "cache"))
    for _ in range(2):
        with workspace(tree, {}) as space:
            assert not (space.root / "cache").exists()


def test_a_file_whose_name_is_no_utf8_is_copied_and_remembered(tree: Tree) -> None:
    name = os.fsdecode(b"\xff.txt")
    (tree.disk_root() / name).write_text("odd")
    for _ in range(2):
        with workspace(tree, CHANGES) as space:
            assert (space.root / name).read_text() == "odd"


def test_a_damaged_record_of_the_last_run_copies_all_again(tree: Tree) -> None:
    with workspace(tree, CHANGES) as space:
        record = space.root.parent / "stamps"
    record.write_bytes(b"\x93" * 50)
    with workspace(tree, CHANGES) as space:
        assert (space.root / "vllm/a.py").read_bytes() == AFTER
