"""What the touched files are once a patch is in: the state that vLLM's CI would see."""

from __future__ import annotations

from pinproof.errors import Conflict
from pinproof.patchset.change import contents_after, text_state
from pinproof.patchset.patchfile import Patch
from pinproof.tree import Tree


def patched_files(tree: Tree, patch: Patch) -> dict[str, bytes | None]:
    """Each file that the patch touches with its bytes after it, None for one that it deletes.

    A tree that has the patch already gives the same answer as one that does not have it yet.

    Raises:
        Conflict: the patch is neither in the tree nor applies to it.
    """
    if text_state(tree, patch) == "applied":
        return {path: tree.read(path) for path in patch.paths()}
    try:
        return contents_after(tree, patch)
    except Conflict as error:
        hint = f"pinproof verdict {patch.number} {tree.name}"
        raise Conflict(f"{patch.name}: {error.message}", hint=hint) from error
