"""The DeepGEMM that a tree pins: where it is vendored, and its Python files for a tree that lacks them."""

from __future__ import annotations

from pinproof.errors import CannotCheck
from pinproof.tree import Tree

LIBRARY = "vllm/third_party/deep_gemm"


def wrapper_files(tree: Tree) -> dict[str, bytes]:
    """The Python files of the DeepGEMM that the tree pins, where the tree itself has none.

    vLLM's git tree does not hold them: they are vendored when a wheel is built. A tree that says
    which release it is gets that release's, read from PyPI.

    Raises:
        CannotCheck: the tree does not say which release it is, or the index cannot be reached.
    """
    if tree.read(f"{LIBRARY}/__init__.py") is not None:
        return {}
    if tree.version is None:
        raise CannotCheck(
            f"{tree.name} holds no {LIBRARY} and does not say which release it is",
            hint="build it (pip install -e .), or give the site-packages that holds it",
        )
    from pinproof.releases import release_tree

    release = release_tree("vllm", tree.version)
    return {path: release.read(path) or b"" for path in release.files.paths(LIBRARY, ".py")}
