"""Merge a patch three-way where its text does not apply: only when asked, and never half."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pinproof.errors import CannotCheck, Conflict, InputError
from pinproof.git import git
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import FileDiff, Patch
from pinproof.tree import Tree


def merge_three_way(patch: Patch, tree: Tree) -> dict[str, bytes | None]:
    """The touched files after merging the patch into the tree.

    The base is the version each diff was made on (its blob id): out of the tree's own repository, or
    found in a release on PyPI.

    Raises:
        Conflict: both sides changed the same lines, or the base is not available.
    """
    return {diff.path: _merge_file(patch, diff, tree) for diff in patch.diffs}


def _merge_file(patch: Patch, diff: FileDiff, tree: Tree) -> bytes | None:
    ours = tree.read(diff.path)
    if ours is None or diff.kind != "modify":
        return apply_diff(ours, diff)
    base = _base(patch, diff, tree)
    theirs = apply_diff(base, diff)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, content in (("ours", ours), ("base", base), ("theirs", theirs)):
            (folder / label).write_bytes(content or b"")
        merged = git(["merge-file", "-p", "--quiet", "ours", "base", "theirs"], cwd=folder, check=False)
    if merged.returncode:
        raise Conflict(f"{patch.name}: both sides changed the same lines of {diff.path}; nothing was written")
    return merged.stdout


def _base(patch: Patch, diff: FileDiff, tree: Tree) -> bytes:
    """The file as it was when the diff was made, known by its blob id."""
    wanted = diff.old_id or ""
    if tree.kind == "git" and tree.root is not None:
        found = git(["cat-file", "blob", wanted], cwd=tree.root, check=False)
        if found.returncode == 0:
            return found.stdout
    from pinproof.patchset.timemachine import closest_release, release_file

    try:
        release = closest_release(patch, tree.version)
        if release is not None:
            return release_file(release, diff.path)
    except (CannotCheck, InputError) as error:
        raise Conflict(f"{patch.name}: no base for a 3-way merge of {diff.path}: {error.message}") from error
    raise Conflict(f"{patch.name}: no release holds the base (blob {wanted[:12]}) of {diff.path}")
