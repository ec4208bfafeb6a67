"""The contract gate on real releases: known defects are found, known traps stay silent."""

from __future__ import annotations

import pytest
from pinproof.contract.check import check_tree
from pinproof.errors import CannotCheck
from pinproof.releases import release_tree

from tests.contract.accuracy import cases, outcomes

pytestmark = pytest.mark.registry

# Few, from small wheels or from those that other tests read: all are in tests/contract/accuracy.py.
PICKED = ("kimi-archetype", "neg-kimi-0271", "kimi-reverse", "fa4b18-quack-subpacked")
KERNEL = "deep_gemm.fp8_fp4_mega_moe"


def online(project: str, version: str) -> None:
    try:
        next(iter(release_tree(project, version).files.paths()), None)
    except CannotCheck as error:
        pytest.skip(f"needs the package index: {error.message}")


@pytest.mark.parametrize("name", PICKED)
def test_a_recorded_case_comes_out_right(name: str) -> None:
    (case,) = [c for c in cases() if c.id == name]
    online(case.engine, case.version)
    (outcome,) = outcomes([case])
    assert outcome.right, outcome.why


@pytest.mark.parametrize(
    ("version", "file", "names"),
    [
        ("0.28.0", "vllm/models/kimi_k3/nvidia/model.py", {"situ_beta", "situ_linear_beta"}),
        ("0.33.0", "vllm/model_executor/layers/fused_moe/deep_gemm_mega_moe.py",
         {"activation_alpha", "activation_beta"}),
    ],
)  # fmt: skip
def test_the_call_of_a_release_fits_the_copy_in_its_wheel(version: str, file: str, names: set[str]) -> None:
    online("vllm", version)
    report = check_tree(release_tree("vllm", version), callee=KERNEL, files=[file])
    (call,) = report.calls
    assert (call.drifts, call.open) == ((), None)
    assert names <= set(call.keywords)


def test_the_operators_of_a_compiled_extension_are_read_out_of_its_strings() -> None:
    from pinproof.contract.declared.library import Library
    from pinproof.contract.declared.summary import Function
    from pinproof.contract.sources.fetching import from_vendored
    from pinproof.contract.watch.watchlist import find, load

    online("vllm", "0.33.0")
    library = Library(from_vendored(find(load(None), "deep_gemm"), "vllm==0.33.0"), "deep_gemm")
    (member,) = library.members("deep_gemm", "cublaslt_gemm_nt")
    assert member.module == "torch.ops.deep_gemm"
    assert isinstance(member.entry, Function)
    assert [(p.name, p.default) for p in member.entry.parameters] == [
        ("a", False), ("b", False), ("d", False), ("c", True),
    ]  # fmt: skip
