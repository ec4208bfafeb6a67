"""Where git keeps a tree's repository, and whether it is this tree's alone to change."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pinproof.errors import InputError, Refused
from pinproof.git import git, git_text

# git writes none of these when it stages a file: hooks are commonly links, and other repositories
# and worktrees have folders of their own there.
_NOT_WRITTEN = {"hooks", "modules", "worktrees", "lfs", "annex"}


def check_worktree(root: Path) -> Path:
    """Make sure that git, run in `root`, changes this tree's own repository and works on `root`.

    A copied worktree, a `.git` that is a link or names the folder of another tree, and links below
    `.git` would all change somebody else's index or objects.

    Returns:
        Git's own folder, where the tree's index is.

    Raises:
        Refused: the folder does not belong to this tree.
        InputError: the repository's config points its work tree at another folder (core.worktree).
    """
    folder = git_folder(root)
    top = git_text(["rev-parse", "--show-toplevel"], cwd=root)
    if os.path.realpath(top) != os.path.realpath(root):
        raise InputError(f"{root} is not a git work tree of its own: git would work on {top}")
    return folder


def git_folder(root: Path) -> Path:
    """Git's own folder of the tree at `root`: inside the tree, or pointing back at it.

    Raises:
        Refused: it is neither, or holds links.
        InputError: there is none, or it cannot be read.
    """
    dot_git = root / ".git"
    try:
        mode = dot_git.lstat().st_mode
    except FileNotFoundError as error:
        raise InputError(f"{root} is not a git work tree of its own") from error
    if stat.S_ISDIR(mode):
        if (dot_git / "commondir").exists():
            raise _foreign(root, "its .git/commondir names another repository")
        _refuse_links(root, dot_git)
        return dot_git
    if not stat.S_ISREG(mode):
        raise _foreign(root, "its .git is a link")
    folder = _named(dot_git)
    for part in _parts_that_point_back(root, folder):
        _refuse_links(root, part)
    return folder


def _named(dot_git: Path) -> Path:
    line = _line(dot_git) or ""
    if not line.startswith("gitdir: "):
        raise InputError(f"{dot_git} names no git folder")
    return Path(os.path.realpath(dot_git.parent / line.removeprefix("gitdir: ")))


def _parts_that_point_back(root: Path, folder: Path) -> list[Path]:
    """The folders of the repository, once it is sure that they name this tree."""
    back = _line(folder / "gitdir")
    if back is None:  # a submodule, or --separate-git-dir
        named = git(
            ["config", "--file", str(folder / "config"), "--get", "core.worktree"], cwd=root, check=False
        )
        worktree = os.fsdecode(named.stdout.rstrip(b"\n"))
        if not worktree or os.path.realpath(folder / worktree) != os.path.realpath(root):
            raise _foreign(root, f"{folder}, which its .git names, does not point back here")
        return [folder]
    if os.path.realpath(folder / back) != os.path.realpath(root / ".git"):
        raise _foreign(root, f"its .git is that of {Path(back).parent}")
    common = Path(os.path.realpath(folder / (_line(folder / "commondir") or "")))
    if folder.parent != common / "worktrees":
        raise _foreign(root, f"{folder} names {common} as its repository, and is not one of its worktrees")
    return [folder, common]


def _line(path: Path) -> str | None:
    """The one line of a small file of git's; None where there is no such file."""
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return os.fsdecode(stream.read(8192).rstrip(b"\r\n"))


def _refuse_links(root: Path, folder: Path) -> None:
    for entry in _entries(folder):
        if entry.is_symlink() or stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode):
            raise _foreign(root, f"{entry.path} is a link or a pipe, and git would write through it")


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """What git may write below its folder: everything but folders and plain files is what we look for."""
    todo = [(os.fspath(folder), _NOT_WRITTEN)]
    while todo:
        at, left_out = todo.pop()
        with os.scandir(at) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in left_out:
                        todo.append((entry.path, set()))
                elif not entry.is_file(follow_symlinks=False):
                    yield entry


def _foreign(root: Path, why: str) -> Refused:
    return Refused(
        f"git would change another repository than that of {root}: {why}",
        hint="make a worktree or a clone of your own: git clone OTHER DIR, or git worktree add DIR",
    )
