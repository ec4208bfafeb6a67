"""A git worktree at a commit for a while, outside the person's checkout, which stays as it is."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pinproof.errors import InputError, Refused
from pinproof.git import git, git_text
from pinproof.gitfolder import check_worktree
from pinproof.paths import cache_dir, file_lock


@contextlib.contextmanager
def locked_clone(root: Path) -> Iterator[None]:
    """Hold a clone for one submit at a time, and clear away what a killed one left.

    Raises:
        Refused: another submit is at work in this clone.
    """
    with file_lock(
        _common_dir(root) / "pinproof-submit.lock", busy="another submit is at work in this clone"
    ):
        _clear_leftovers(root)
        yield


def require_toplevel(root: Path) -> None:
    """Make sure that a tree is the top of a git clone.

    Raises:
        Refused: it is not, so there is no branch to make.
    """
    try:
        check_worktree(root)
    except InputError as error:
        raise Refused(
            f"{root} is not a git clone of upstream, so there is no branch to make there",
            hint="give a clone: git clone https://github.com/vllm-project/vllm",
        ) from error


@contextlib.contextmanager
def worktree_at(root: Path, commit: str) -> Iterator[Path]:
    """A detached worktree of the clone at a commit, outside the clone; gone afterwards.

    Needs `locked_clone`.

    Raises:
        Refused: the clone is partial and lacks files of that commit.
    """
    folder = Path(tempfile.mkdtemp(prefix="at-", dir=_folder()))
    path = folder / "tree"
    try:
        done = git(["worktree", "add", "--quiet", "--detach", str(path), commit], cwd=root, check=False)
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise Refused(
                f"cannot check out {commit[:12]}: {lines[-1]}",
                hint="in a partial clone: git fetch --refetch --no-filter upstream main",
            )
        yield path
    finally:
        git(["worktree", "remove", "--force", str(path)], cwd=root, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def checked_out(root: Path, branch: str) -> bool:
    """Whether a worktree of the clone has this branch checked out."""
    return (
        f"branch refs/heads/{branch}" in git_text(["worktree", "list", "--porcelain"], cwd=root).splitlines()
    )


def _clear_leftovers(root: Path) -> None:
    ours = str(_folder().resolve())
    for line in git_text(["worktree", "list", "--porcelain"], cwd=root).splitlines():
        path = line.removeprefix("worktree ")
        if line.startswith("worktree ") and Path(path).resolve().is_relative_to(ours):
            git(["worktree", "remove", "--force", "--force", path], cwd=root, check=False)
            shutil.rmtree(Path(path).parent, ignore_errors=True)
    git(["worktree", "prune"], cwd=root, check=False)


def _folder() -> Path:
    return cache_dir("submit")


def _common_dir(root: Path) -> Path:
    return (root / git_text(["rev-parse", "--git-common-dir"], cwd=root)).resolve()
