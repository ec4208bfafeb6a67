"""The git repository around the copy: made, staged, committed, and put back as it was."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pinproof.git import git


def git_in(
    root: Path,
    *args: str,
    stdin: bytes | None = None,
    check: bool = True,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run git on the repository at `root` and on no other.

    A hook can break it; git would then climb to a repository around the cache, such as one that holds the
    user's home, and reset that.
    """
    fence = {"GIT_CEILING_DIRECTORIES": str(root.parent), **(env or {})}
    return git(args, cwd=root, stdin=stdin, check=check, env=fence)


def create(root: Path) -> None:
    """An empty repository in which hooks see the same bytes as in CI, whatever the user's settings are."""
    root.mkdir()
    git_in(root, "init", "-q", "--template=")
    for key in ("core.autocrlf", "core.fsmonitor"):
        git_in(root, "config", key, "false")
    for key in ("core.hooksPath", "core.excludesFile", "core.attributesFile"):
        git_in(root, "config", key, "/dev/null")


def reset(root: Path) -> bool:
    """Back to the commit; what is ignored stays (mypy's cache). False when the repository is broken."""
    if git_in(root, "reset", "-q", "--hard", check=False).returncode:
        return False
    git_in(root, "clean", "-fdq")
    return True


def stage(root: Path, names: Sequence[str]) -> None:
    listing = b"".join(os.fsencode(name) + b"\0" for name in names)
    git_in(root, "update-index", "--add", "--remove", "-z", "--stdin", stdin=listing)


def commit(root: Path) -> None:
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
           for key, value in (("NAME", "pinproof"), ("EMAIL", "check@pinproof.invalid"))}  # fmt: skip
    written = git_in(root, "write-tree").stdout.decode().strip()
    made = git_in(root, "commit-tree", "-m", "the tree as it is", written, env=who).stdout.decode().strip()
    git_in(root, "update-ref", "HEAD", made)


def apply_changes(root: Path, changes: Mapping[str, bytes | None]) -> None:
    for name, data in changes.items():
        path = root / name
        if data is None:
            path.unlink(missing_ok=True)
        elif not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    stage(root, list(changes))
