"""The one call the project began with: DeepGEMM's MegaMoE, reached through vLLM's getter."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.contract.check import check_tree
from pinproof.contract.model import CallCheck
from pinproof.tree import open_tree

GETTER = """
import functools
import importlib

@functools.cache
def _import_deep_gemm():
    try:
        return importlib.import_module("deep_gemm")
    except ImportError:
        pass
    try:
        return importlib.import_module("vllm.third_party.deep_gemm")
    except ImportError:
        return None
"""
CALL = """
class Experts:
    def forward(self, x):
        from vllm.utils.deep_gemm import _import_deep_gemm

        deep_gemm = _import_deep_gemm()
        deep_gemm.fp8_fp4_mega_moe(x, x, x, x, activation_beta=1.0, fast_math=True)
"""
KERNEL = "def fp8_fp4_mega_moe(y, l1, l2, buffer, {names}, fast_math=True): ...\n"


def engine(root: Path) -> Path:
    for path, text in {
        "vllm/__init__.py": "",
        "vllm/utils/__init__.py": "",
        "vllm/utils/deep_gemm.py": GETTER,
        "vllm/model.py": CALL,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def library(folder: Path, names: str) -> None:
    (folder / "mega").mkdir(parents=True)
    (folder / "__init__.py").write_text("from .mega import fp8_fp4_mega_moe\n")
    (folder / "mega" / "__init__.py").write_text(KERNEL.format(names=names))


def the_call(root: Path, libraries: dict[str, str] | None = None) -> CallCheck:
    report = check_tree(
        open_tree(root), callee="deep_gemm.fp8_fp4_mega_moe", files=["vllm/model.py"], libraries=libraries
    )
    (call,) = report.calls
    return call


def test_a_keyword_the_vendored_copy_takes_binds(tmp_path: Path) -> None:
    library(engine(tmp_path) / "vllm/third_party/deep_gemm", "activation_beta=0.0")
    call = the_call(tmp_path)
    assert (call.drifts, call.open, call.keywords) == ((), None, ("activation_beta", "fast_math"))


def test_a_keyword_the_vendored_copy_lacks_is_a_drift_that_names_the_nearest(tmp_path: Path) -> None:
    library(engine(tmp_path) / "vllm/third_party/deep_gemm", "situ_beta=0.0")
    call = the_call(tmp_path)
    assert [(d.kind, d.names, d.nearest) for d in call.drifts] == [
        ("unexpected-keyword", ("activation_beta",), ("situ_beta",))
    ]
    assert call.signature is not None
    assert call.signature.place.file == "deep_gemm/mega/__init__.py"


def test_an_installed_package_wins_over_the_vendored_copy_and_the_difference_is_told(tmp_path: Path) -> None:
    library(engine(tmp_path) / "vllm/third_party/deep_gemm", "activation_beta=0.0")
    library(tmp_path / "deep_gemm", "situ_beta=0.0")
    report = check_tree(open_tree(tmp_path), callee="deep_gemm.fp8_fp4_mega_moe")
    assert [call.failing for call in report.calls] == [True]
    assert "wins over" in (report.libraries[0].note or "")


def test_a_library_given_by_hand_decides_over_the_tree(tmp_path: Path) -> None:
    library(engine(tmp_path) / "vllm/third_party/deep_gemm", "activation_beta=0.0")
    library(tmp_path / "clone" / "deep_gemm", "situ_beta=0.0")
    assert the_call(tmp_path, libraries={"deep_gemm": str(tmp_path / "clone")}).failing


def test_without_a_copy_or_pin_the_call_is_open_and_the_options_are_named(tmp_path: Path) -> None:
    report = check_tree(open_tree(engine(tmp_path)), callee="deep_gemm.fp8_fp4_mega_moe")
    assert [call.open is not None for call in report.calls] == [True]
    assert [(u.library, "--library deep_gemm=PATH" in u.hint) for u in report.unchecked] == [
        ("deep_gemm", True)
    ]


@pytest.mark.parametrize(
    ("commit", "name"),
    [
        ("e21c821f39a2056d68067a466c64ddc942200106", "activation_linear_beta"),
        ("8b1392b978f5a03c828dd1711090d7fb50958b8a", "situ_linear_beta"),
        ("0820030756945b2daec208e8e8255268360f337d", "activation_alpha"),
    ],
)
def test_the_shipped_snapshot_of_a_pinned_commit_declares_its_names(
    tmp_path: Path, commit: str, name: str
) -> None:
    root = engine(tmp_path)
    (root / "cmake/external_projects").mkdir(parents=True)
    (root / "cmake/external_projects/deepgemm.cmake").write_text(
        f'set(TAG "{commit}")\nGIT_REPOSITORY https://example.org/DeepGEMM.git\nGIT_TAG ${{TAG}}\n'
    )
    call = the_call(root)
    assert call.signature is not None
    assert name in call.signature.names
