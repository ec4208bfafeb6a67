"""What a tree's files are once a patch is in: the state that vLLM's CI would see."""

from __future__ import annotations

from pinproof.errors import Conflict
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import FileDiff, Patch
from pinproof.tree import Tree


def patched_files(tree: Tree, patch: Patch) -> dict[str, bytes | None]:
    """Each file that the patch touches with its bytes after it, None for a file that it deletes.

    A diff that the tree holds already leaves its file as it is, so a patched tree and an unpatched one
    give the same answer.

    Raises:
        Conflict: a diff is neither in the tree nor applies to it.
    """
    return {diff.path: _after(tree, diff, patch.name) for diff in patch.diffs}


def _after(tree: Tree, diff: FileDiff, name: str) -> bytes | None:
    before = tree.read(diff.path)
    try:
        apply_diff(before, diff, reverse=True)
    except Conflict:
        try:
            return apply_diff(before, diff)
        except Conflict as error:
            hint = f"pinproof verdict {name.split('-', 1)[0]} {tree.name}"
            raise Conflict(f"{name}: {error.message}", hint=hint) from error
    return before
