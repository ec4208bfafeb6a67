"""Two vLLM releases on an index of this machine, either side of the patch."""

from __future__ import annotations

from pathlib import Path

from pinproof.patchset.patchfile import Patch

from tests.index_server import Index, wheel
from tests.trees import FORK, SITU, make_tree

CALLEE = "deep_gemm.fp8_fp4_mega_moe"


def add_release(index: Index, folder: Path, patch: Patch, version: str, *, fixed: bool) -> None:
    """Put vLLM at a version on the index: the real hunk's call, and a vendored library that fits it."""
    root = make_tree(folder / version, patch, fixed=fixed, declares=SITU if fixed else FORK)
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.py")}
    files[f"vllm-{version}.dist-info/METADATA"] = f"Metadata-Version: 2.4\nVersion: {version}\n".encode()
    index.add("vllm", f"vllm-{version}-py3-none-any.whl", wheel(files))


def two_releases(index: Index, folder: Path, patch: Patch) -> Index:
    """0.27.0 before the patch, 0.28.0 with it."""
    add_release(index, folder, patch, "0.27.0", fixed=False)
    add_release(index, folder, patch, "0.28.0", fixed=True)
    return index
