"""The smoke gate on vLLM 0.28.0: with the fix, without it, and against the wheel's own kernel source."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import CannotCheck
from pinproof.patchset.change import contents_after
from pinproof.patchset.patchfile import Patch
from pinproof.smoke.ladder import smoke_gate, subject_of
from pinproof.smoke.machine import nvcc_version
from pinproof.smoke.probes.kimi_k3_megamoe import kernel_source
from pinproof.smoke.probes.kimi_k3_megamoe.compile import run_compile
from pinproof.smoke.registry import load
from pinproof.tree import Tree

from tests.smoke.environment import release_sources, smoke_python

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def tree() -> Tree:
    return release_sources("0.28.0")


def test_the_real_forward_reaches_the_pinned_wrapper(tree: Tree, patch: Patch) -> None:
    gate = smoke_gate(subject_of(tree, load("kimi_k3_megamoe"), patch), smoke_python(), "bind")
    assert gate.outcome == "pass", gate.summary
    (through,) = gate.details["exercised"]
    assert through["scope"] == "KimiK3MegaMoEExperts.forward"
    (bind,) = gate.details["rungs"]
    values = bind["details"]["values"]
    assert (values["situ_beta"], values["situ_linear_beta"]) == (1.75, 6.5)
    assert values["activation"] == "situ"
    assert values["activation_clamp"] is None
    assert "SM100 numerics: not run" in gate.summary


def test_without_the_fix_the_real_type_error_is_raised_at_the_call(tree: Tree, patch: Patch) -> None:
    changed = contents_after(tree, patch, reverse=True)
    broken = tree.with_changes({path: data for path, data in changed.items() if data is not None})
    gate = smoke_gate(subject_of(broken, load("kimi_k3_megamoe"), patch), smoke_python(), "bind")
    assert gate.outcome == "fail"
    (bind,) = gate.details["rungs"]
    assert bind["details"]["error"]["type"] == "TypeError"
    assert "got an unexpected keyword argument 'activation_beta'" in bind["summary"]
    assert bind["details"]["error"]["frames"][-1]["function"] == "forward"


def test_the_wheels_kernel_compiles_for_sm100_and_its_host_side_states_the_value_contracts(
    tree: Tree, tmp_path: Path
) -> None:
    if nvcc_version() is None:
        pytest.skip("nvcc is not on PATH")
    found = run_compile(tree, tmp_path, {"situ_beta": 1.75, "situ_linear_beta": 6.5})
    if found.outcome == "skip":
        pytest.skip(str(found.reason))
    assert found.outcome == "pass", found.summary
    assert found.details["zero_linear_beta"] == "stopped by the kernel's own assertion 'Invalid SiTU beta'"
    assert found.details["registers"] <= 255
    assert 0 < found.details["shared_memory_bytes"] <= 227 * 1024
    contracts = " ".join(found.details["host_contracts"])
    assert "not use_situ or not activation_clamp_opt.has_value()" in contracts
    assert "std::isfinite(situ_beta) and situ_beta > 0" in contracts


def test_the_headers_come_in_few_requests(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PINPROOF_CACHE", str(tmp_path / "cache"))
    requests: list[int] = []
    from pinproof import wheelfiles

    ranged = wheelfiles.WheelFiles._range

    def counted(self: wheelfiles.WheelFiles, start: int, stop: int) -> bytes:
        requests.append(stop - start)
        return ranged(self, start, stop)

    monkeypatch.setattr(wheelfiles.WheelFiles, "_range", counted)
    try:
        include = kernel_source.headers(tree)
    except CannotCheck as error:
        pytest.skip(error.message)
    assert (include / kernel_source.PLAIN).is_file()
    assert len(requests) <= 4


def test_from_032_on_the_probe_follows_the_class_to_its_new_module() -> None:
    subject = subject_of(release_sources("0.33.0"), load("kimi_k3_megamoe"))
    gate = smoke_gate(subject, smoke_python(), "bind")
    assert gate.outcome == "pass", gate.summary
    values = gate.details["rungs"][0]["details"]["values"]
    assert (values["activation_alpha"], values["activation_beta"]) == (1.75, 6.5)


FUSED = "vllm/model_executor/layers/fused_moe/fused_moe.py"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"", b"", "33 of the kernel's 46 parameters arrive as they should"),
        (b"        B.stride(2),\n        B.stride(1),\n", b"        B.stride(1),\n        B.stride(2),\n",
         "stride_bk arrived as 280, not 1"),
    ],
    ids=["as released", "two strides swapped"],
)  # fmt: skip
def test_the_fused_moe_launch_is_bound_to_the_kernels_own_signature(
    tree: Tree, old: bytes, new: bytes, said: str
) -> None:
    source = tree.read(FUSED) or b""
    start = source.index(b"def invoke_fused_moe_triton_kernel")
    changed = source[:start] + source[start:].replace(old, new, 1) if old else source
    subject = subject_of(tree.with_changes({FUSED: changed}), load("fused_moe_triton"))
    gate = smoke_gate(subject, smoke_python(), "bind")
    assert gate.outcome == ("fail" if old else "pass"), gate.summary
    assert said in gate.details["rungs"][0]["summary"]
