"""Attacks that make apply write where it must not: another repository, a nested one, our own files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pinproof import gitfolder, names
from pinproof.patchset import apply as applying
from pinproof.patchset import journal

from tests.security.attacks import HEAD, Case, Monkey, apply, diff_text, patch_text, repository, small_tree

PATCH = patch_text("vllm/a.py", b"old\n", b"new\n")


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def copied_worktree(tmp: Path, monkeypatch: Monkey) -> bool:
    """`cp -a` of a linked worktree: the copy's .git still names the original's index."""
    owner = repository(tmp / "owner")
    git(owner, "worktree", "add", "-q", "--detach", str(tmp / "linked"))
    shutil.copytree(tmp / "linked", tmp / "copy", symlinks=True)
    apply(tmp / "copy", PATCH)
    return git(tmp / "linked", "diff", "--cached") != ""


def git_file_names_another(tmp: Path, monkeypatch: Monkey) -> bool:
    """A `.git` file that names the folder of a repository elsewhere."""
    owner = repository(tmp / "owner")
    root = repository(tmp / "tree")
    shutil.rmtree(root / ".git")
    (root / ".git").write_text(f"gitdir: {owner}/.git\n")
    apply(root, PATCH)
    return git(owner, "diff", "--cached") != ""


def git_is_a_link(tmp: Path, monkeypatch: Monkey) -> bool:
    """A `.git` that is a link to the folder of a repository elsewhere."""
    owner = repository(tmp / "owner")
    root = repository(tmp / "tree")
    shutil.rmtree(root / ".git")
    (root / ".git").symlink_to(owner / ".git")
    apply(root, PATCH)
    return git(owner, "diff", "--cached") != ""


def objects_are_a_link(tmp: Path, monkeypatch: Monkey) -> bool:
    """A `.git/objects` that is a link to another repository's."""
    owner = repository(tmp / "owner")
    root = repository(tmp / "tree")
    shutil.copytree(root / ".git/objects", owner / ".git/objects", dirs_exist_ok=True)
    shutil.rmtree(root / ".git/objects")
    (root / ".git/objects").symlink_to(owner / ".git/objects")
    return _objects_grow(owner, root)


def commondir_names_another(tmp: Path, monkeypatch: Monkey) -> bool:
    """A `.git/commondir` that makes git keep objects in another repository."""
    owner = repository(tmp / "owner")
    root = repository(tmp / "tree")
    shutil.copytree(root / ".git/objects", owner / ".git/objects", dirs_exist_ok=True)
    shutil.copytree(root / ".git/refs", owner / ".git/refs", dirs_exist_ok=True)
    (root / ".git/commondir").write_text(f"{owner}/.git\n")
    return _objects_grow(owner, root)


def _objects_grow(owner: Path, root: Path) -> bool:
    before = sorted((owner / ".git/objects").rglob("*"))
    apply(root, PATCH)
    return sorted((owner / ".git/objects").rglob("*")) != before


def new_file_in_a_nested_git_folder(tmp: Path, monkeypatch: Monkey) -> bool:
    """A patch that adds a file through the tree's own link into a nested repository's hooks."""
    root = small_tree(tmp / "tree")
    hooks = root / "third_party/.git/hooks"
    hooks.mkdir(parents=True)
    (root / "vllm/link").symlink_to("../third_party/.git/hooks")
    apply(root, patch_text("vllm/link/post-checkout", None, b"#!/bin/sh\n"))
    return (hooks / "post-checkout").exists()


def nested_git_config_changes(tmp: Path, monkeypatch: Monkey) -> bool:
    """A patch that changes a nested repository's config through a link of another name."""
    root = small_tree(tmp / "tree")
    (root / "third_party/.git").mkdir(parents=True)
    (root / "third_party/.git/config").write_bytes(b"old\n")
    (root / "vllm/settings").symlink_to("../third_party/.git/config")
    apply(root, patch_text("vllm/settings", b"old\n", b"new\n"))
    return (root / "third_party/.git/config").read_bytes() == b"new\n"


def new_file_through_a_link(tmp: Path, monkeypatch: Monkey) -> bool:
    """A patch that adds a file to a folder of the tree that is a link to another folder of it."""
    root = small_tree(tmp / "tree")
    (root / "scripts").mkdir()
    (root / "vllm/link").symlink_to("../scripts")
    apply(root, patch_text("vllm/link/run.py", None, b"x\n"))
    return (root / "scripts/run.py").exists()


def our_new_file_is_named(tmp: Path, monkeypatch: Monkey) -> bool:
    """A patch that also adds the file which apply writes beside its target: its content would win."""
    root = small_tree(tmp / "tree")
    (root / "vllm/a.py").write_bytes(b"old\n")
    planted = diff_text("vllm/.a.py.pinproof-new", None, b"evil\n")
    apply(root, HEAD + planted + diff_text("vllm/a.py", b"old\n", b"new\n"))
    return (root / "vllm/a.py").read_bytes() == b"evil\n"


def one_file_has_two_names(tmp: Path, monkeypatch: Monkey) -> bool:
    """A patch with `vllm//a.py` beside `vllm/a.py`: what is written is not what was judged."""
    root = small_tree(tmp / "tree")
    (root / "vllm/a.py").write_bytes(b"old\n")
    twice = diff_text("vllm/a.py", b"old\n", b"new\n") + diff_text("vllm//a.py", b"old\n", b"evil\n")
    apply(root, HEAD + twice)
    return (root / "vllm/a.py").read_bytes() != b"old\n"


def one_file_behind_a_link(tmp: Path, monkeypatch: Monkey) -> bool:
    """The same by a link beside the file."""
    root = small_tree(tmp / "tree")
    (root / "vllm/a.py").write_bytes(b"old\n")
    (root / "vllm/b.py").symlink_to("a.py")
    twice = diff_text("vllm/a.py", b"old\n", b"new\n") + diff_text("vllm/b.py", b"old\n", b"evil\n")
    apply(root, HEAD + twice)
    return (root / "vllm/a.py").read_bytes() != b"old\n"


def _folder_is_believed(monkeypatch: Monkey) -> None:
    def folder(root: Path) -> Path:
        return Path(root / git(root, "rev-parse", "--git-dir").strip())

    monkeypatch.setattr(applying, "check_worktree", folder)


def _folders_point_anywhere(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(gitfolder, "_parts_that_point_back", lambda root, folder: [folder])


def _links_below_git(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(gitfolder, "_refuse_links", lambda root, folder: None)


def _resolved(monkeypatch: Monkey) -> None:
    """Resolved paths are not judged."""
    monkeypatch.setattr(journal, "_target", lambda root, path: Path(os.path.realpath(root / path)))
    _each_for_itself(monkeypatch)
    monkeypatch.setattr("pinproof.tree.is_reserved", lambda part: False)


def _each_for_itself(monkeypatch: Monkey) -> None:
    def targets(root: Path, changes: list[journal.Change]) -> list[Path]:
        return [journal._target(root, change.path) for change in changes]

    monkeypatch.setattr(journal, "_targets", targets)


def _names_are_free(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(names, "is_reserved", lambda part: False)


def _spellings_are_free(monkeypatch: Monkey) -> None:
    monkeypatch.setattr("pinproof.tree.is_safe", lambda path: True)
    _each_for_itself(monkeypatch)


CASES = (
    Case("apply changes another repository", copied_worktree, _folders_point_anywhere),
    Case("apply changes another repository", git_file_names_another, _folders_point_anywhere),
    Case("apply changes another repository", git_is_a_link, _folder_is_believed),
    Case("apply changes another repository", objects_are_a_link, _links_below_git),
    Case("apply changes another repository", commondir_names_another, _folder_is_believed),
    Case("a patch writes through a link", new_file_in_a_nested_git_folder, _resolved),
    Case("a patch writes through a link", nested_git_config_changes, _resolved),
    Case("a patch writes through a link", new_file_through_a_link, _each_for_itself),
    Case("a patch names our own files", our_new_file_is_named, _names_are_free),
    Case("two names for one file", one_file_has_two_names, _spellings_are_free),
    Case("two names for one file", one_file_behind_a_link, _each_for_itself),
)
