"""Small trees of vLLM's shape: the call of the real patch, the helper it goes through, a vendored library."""

from __future__ import annotations

from pathlib import Path

from pinproof.patchset.patchfile import Patch

MODEL = "vllm/models/kimi_k3/nvidia/model.py"
SITU = ("situ_beta", "situ_linear_beta")
FORK = ("activation_beta", "activation_linear_beta")

_TOP = b"""class KimiK3MegaMoEExperts(DeepseekV4MegaMoEExperts):
    def forward(self, y, symm_buffer, activation_clamp, fast_math):
        from vllm.utils.deep_gemm import _import_deep_gemm

        deep_gemm = _import_deep_gemm()
"""
_CALL = b"""        deep_gemm.fp8_fp4_mega_moe(
            y,
            self._transformed_l1_weights,
            self._transformed_l2_weights,
"""
_HELPER = """import functools
import importlib


@functools.cache
def _import_deep_gemm():
    try:
        module = importlib.import_module("deep_gemm")
        return module
    except ImportError:
        pass
    try:
        module = importlib.import_module("vllm.third_party.deep_gemm")
        return module
    except ImportError:
        pass
    return None
"""
_LIBRARY = """def fp8_fp4_mega_moe(y, l1_weights, l2_weights, sym_buffer, recipe=None,
                     activation="swiglu", activation_clamp=None, fast_math=True{names}):
    pass
"""


def model_file(patch: Patch, *, fixed: bool) -> bytes:
    """A module that parses, with the hunk's real lines at their real place."""
    hunk = patch.diffs[0].hunks[0]
    lines = b"".join(hunk.new() if fixed else hunk.old())
    filler = hunk.old_start - 1 - _TOP.count(b"\n") - _CALL.count(b"\n")
    return _TOP + b"        # filler\n" * filler + _CALL + lines + b"\n\n# the end\n" * 5


def make_tree(root: Path, patch: Patch, *, fixed: bool, declares: tuple[str, ...]) -> Path:
    """A plain tree: the fixed names or the old ones at the call, and a library that declares some."""
    files = {
        "vllm/__init__.py": b"",
        MODEL: model_file(patch, fixed=fixed),
        "vllm/utils/deep_gemm.py": _HELPER.encode(),
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    vendor_library(root / "vllm/third_party/deep_gemm", declares)
    return root


def vendor_library(folder: Path, declares: tuple[str, ...]) -> None:
    """A deep_gemm package whose fp8_fp4_mega_moe takes these optional names too."""
    (folder / "mega").mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text("from .mega import fp8_fp4_mega_moe\n__version__ = '2.6.1'\n")
    names = "".join(f", {name}=None" for name in declares)
    (folder / "mega/__init__.py").write_text(_LIBRARY.format(names=names))
