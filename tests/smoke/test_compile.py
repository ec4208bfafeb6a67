from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pinproof.errors import CannotCheck
from pinproof.smoke.probes.kimi_k3_megamoe import compile as rung
from pinproof.tree import open_tree

REPORT = """ptxas info    : Compiling entry function 'k' for 'sm_100a'
ptxas info    : Function properties for k
    56 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 128 registers, used 16 barriers
"""
ALL = [("uint32_t", name) for name in {**rung.SHAPES, **rung.TILING}] + [
    ("auto", name) for name in rung.FLAGS
]


def test_the_unit_fills_every_parameter_in_order_with_exact_scales() -> None:
    text = rung.unit(
        "k.cuh", "k_impl", [*ALL, ("float", "kSiTUBeta"), ("float", "kSiTULinearBeta")], (1.75, 6.5)
    )
    arguments = text.split("_impl<")[1].split(">(")[0].split(">)")[0]
    assert arguments.endswith("float_e2m1_unpacksmem_t, 1.75f, 6.5f")
    assert arguments.startswith("3584, 3072, 896, 0, 16, 8, 1024")


def test_the_scales_follow_the_kernels_own_names() -> None:
    text = rung.unit(
        "k.cuh", "k_impl", [("float", "kActivationBeta"), ("float", "kActivationLinearBeta")], (1.75, 6.5)
    )
    assert "_impl<1.75f, 6.5f>" in text


def test_a_parameter_that_is_not_known_is_named_and_nothing_is_guessed() -> None:
    with pytest.raises(CannotCheck, match="unknown here: kNovel"):
        rung.unit("k.cuh", "k_impl", [("int", "kNovel")], (1.75, 6.5))


def test_resources_are_read_from_ptxas_and_the_size_note() -> None:
    assert rung.resources(REPORT, "\t// pinproof.shared 218112\n") == {
        "registers": 128, "stack_bytes": 56, "spill_store_bytes": 8, "spill_load_bytes": 12,
        "shared_memory_bytes": 218112,
    }  # fmt: skip
    assert rung.resources("", "")["registers"] is None


@pytest.mark.parametrize(
    "stderr",
    [
        'a.cuh(90): error: static assertion failed with "Invalid SiTU beta"\n',
        'a.cuh(90): error: static assertion failed: "Invalid SiTU beta"\n',
    ],
)
def test_the_kernels_own_assertion_is_told_from_any_other_error(stderr: str) -> None:
    done = subprocess.CompletedProcess([], 2, "", stderr)
    assert rung._assertion(done) == "stopped by the kernel's own assertion 'Invalid SiTU beta'"
    other = subprocess.CompletedProcess([], 2, "", "error: out of memory")
    assert rung._assertion(other) == "stopped by another error"
    assert rung._assertion(subprocess.CompletedProcess([], 0, "", "")) is None


@pytest.mark.parametrize(
    ("version", "reason"), [(None, "nvcc is not on PATH"), ("12.4", "nvcc 12.4 is too old for sm_100a")]
)
def test_without_a_fitting_nvcc_the_rung_is_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken_tree: Path, version: str | None, reason: str
) -> None:
    monkeypatch.setattr(rung, "nvcc_version", lambda: version)
    found = rung.run_compile(open_tree(broken_tree), tmp_path, {})
    assert found.outcome == "skip"
    assert str(found.reason).startswith(reason)


def test_the_real_shapes_and_the_tiling_fit_together() -> None:
    """What the kernel's static assertions ask of them, so that an edit here fails before nvcc does."""
    shapes, tiling = rung.SHAPES, rung.TILING
    assert shapes["kNumExperts"] % shapes["kNumRanks"] == 0
    assert shapes["kHidden"] % tiling["BLOCK_K"] == 0
    assert (2 * shapes["kIntermediateHidden"]) % (2 * tiling["BLOCK_N"]) == 0
    assert tiling["BLOCK_M"] // 2 % tiling["STORE_BLOCK_M"] == 0
    assert shapes["kHidden"] % tiling["kNumBytesPerPull"] == 0
