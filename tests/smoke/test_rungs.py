from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pinproof.smoke import rungs as common
from pinproof.smoke.probes.kimi_k3_megamoe import rungs
from pinproof.smoke.session import Session
from pinproof.tree import open_tree

GPU = {"name": "NVIDIA H200", "capability": [9, 0], "count": 1, "free_gib": 139.0}
VERSIONS = {"versions": {"torch": "2.13.0", "vllm": "0.28.0"}}


@pytest.fixture
def session(broken_tree: Path, tmp_path: Path) -> Session:
    return Session(open_tree(broken_tree), "python3", tmp_path, 1, {**VERSIONS, "gpu": dict(GPU)})


def generated(logits: list[list[float]], **more: Any) -> dict[str, Any]:
    return {
        "backend": "auto",
        "tokens": [1, 2],
        "digest": repr(logits),
        "seconds": 3.0,
        "logits": logits,
        **more,
    }


def test_no_gpu_says_what_torch_and_driver_there_are(session: Session) -> None:
    session.machine = {**VERSIONS, "gpu": None, "driver": "470.57.02"}
    found = common.no_gpu(session, "kernel")
    assert found is not None
    assert found.reason == (
        "no CUDA GPU: torch 2.13.0 sees none, although driver 470.57.02 is loaded (too old for this torch?)"
    )


def test_a_tree_from_before_the_model_is_a_skip_on_every_rung(session: Session) -> None:
    (session.tree.disk_root() / rungs.MODEL).unlink()
    for run in (rungs.run_bind, rungs.run_kernel, rungs.run_model):
        found = run(session, ())
        assert found.outcome == "skip"
        assert found.reason == f"this tree has no {rungs.MODEL}"


def test_too_few_gpus_or_too_little_memory_is_a_skip(session: Session) -> None:
    assert common.no_gpu(session, "model") is None
    session.machine["gpu"]["free_gib"] = 1.5
    little = common.no_gpu(session, "model")
    assert little is not None
    assert "1.5 GiB free" in str(little.reason)
    session.nproc = 2
    few = common.no_gpu(session, "model")
    assert few is not None
    assert "--nproc 2" in str(few.reason)


def test_a_tree_that_is_not_built_needs_a_built_vllm(session: Session) -> None:
    found = rungs.run_kernel(session, ())
    assert found.outcome == "skip"
    assert "is not built and the interpreter has no built vLLM" in str(found.reason)
    assert str(session.tree.disk_root()) not in str(found.reason)


def test_a_built_vllm_of_another_version_is_not_mixed_in(session: Session, tmp_path: Path) -> None:
    site = tmp_path / "site/vllm"
    site.mkdir(parents=True)
    (site / "_C.abi3.so").touch()
    (session.tree.disk_root() / "PKG-INFO").write_text("Version: 0.29.0\n")
    session.tree = open_tree(session.tree.disk_root())
    session.machine["vllm_dir"] = str(site)
    found = rungs.run_kernel(session, ())
    assert found.outcome == "skip"
    assert "is vLLM 0.29.0, the interpreter's built vLLM is 0.28.0" in str(found.reason)


def test_the_model_runs_both_sides_of_the_patch_and_one_gpu_beside_many(session: Session) -> None:
    session.twin = session.tree
    session.nproc = 2
    assert [(name, nproc) for name, _, nproc in rungs.plan(session)] == [
        (rungs.MINE, 2), (rungs.ONE_GPU, 1), (rungs.TWIN, 2),
    ]  # fmt: skip


def test_on_sm100_the_backend_is_the_patched_one_so_there_is_no_twin(session: Session) -> None:
    session.twin = session.tree
    session.machine["gpu"]["capability"] = [10, 0]
    assert [name for name, _, _ in rungs.plan(session)] == [rungs.MINE]


def test_both_sides_must_give_the_same_logits() -> None:
    same = {rungs.MINE: generated([[1.0, 2.0]]), rungs.TWIN: generated([[1.0, 2.0]])}
    faults, details = rungs.judge_model(same)
    assert faults == []
    assert details["twin_equal"]
    assert "the same with the patch the other way round" in rungs.praise(details)
    faults, details = rungs.judge_model({**same, rungs.TWIN: generated([[1.0, 2.5]])})
    assert not details["twin_equal"]
    assert "changes a backend that it does not touch" in faults[0]


@pytest.mark.parametrize(("other", "good"), [(2.01, True), (3.0, False), (float("nan"), False)])
def test_across_layouts_logits_are_compared_within_a_tolerance(other: float, good: bool) -> None:
    runs = {rungs.MINE: generated([[1.0, other]]), rungs.ONE_GPU: generated([[1.0, 2.0]])}
    faults, details = rungs.judge_model(runs)
    assert (faults == []) is good
    assert details["layout_tolerance"] == rungs.LAYOUT_TOLERANCE
