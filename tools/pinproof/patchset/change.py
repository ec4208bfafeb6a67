"""What a patch would do to a tree, worked out in memory: new contents, and whether it is in already."""

from __future__ import annotations

from typing import Literal

from pinproof.errors import Conflict
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import Patch
from pinproof.tree import Tree

TextState = Literal["applies", "applied", "neither", "missing"]


def contents_after(tree: Tree, patch: Patch, *, reverse: bool = False) -> dict[str, bytes | None]:
    """The contents of the touched files after the patch (or after its removal); nothing is written.

    Raises:
        Conflict: it does not apply; the first hunk that fails is named.
    """
    return {diff.path: apply_diff(tree.read(diff.path), diff, reverse=reverse) for diff in patch.diffs}


def text_state(tree: Tree, patch: Patch) -> TextState:
    """Whether the patch's text applies to the tree, is in it already, or neither.

    `missing`: the tree has none of the files that the patch changes (one that it deletes is rightly
    gone). Only text is looked at: what the state means is for the contract to say.
    """
    changed = [diff.path for diff in patch.diffs if diff.kind == "modify"]
    if changed and all(tree.read(path) is None for path in changed):
        return "missing"
    if _goes(tree, patch, reverse=True):
        return "applied"
    return "applies" if _goes(tree, patch, reverse=False) else "neither"


def _goes(tree: Tree, patch: Patch, *, reverse: bool) -> bool:
    try:
        contents_after(tree, patch, reverse=reverse)
    except Conflict:
        return False
    return True
