from __future__ import annotations

from typing import Any

import pytest
from pinproof.smoke.probes.fused_moe_triton import verdicts
from pinproof.smoke.process import Child

ARRIVED = {
    "event": "arrived", "rank": 0, "wrong": [], "values": {"N": 640}, "options": {}, "checked": 33,
    "parameters": 46, "stand_ins": [],
}  # fmt: skip
MACHINE = {"event": "machine", "rank": 0, "capability": [9, 0], "triton": "3.6.0"}
RAN = {
    "event": "ran", "rank": 0, "tokens": 48, "launches": 2, "finite": True, "error": 0.0045,
    "tolerance": 0.0078, "against_wrong": {"gate and up swapped": 0.4, "routing weights lost": 0.1},
}  # fmt: skip
BUILT = {"event": "built", "rank": 0, "target": "sm_100", "cubin_bytes": 91136, "shared_bytes": 10240}


def child(*events: dict[str, Any], returncode: int = 0) -> Child:
    return Child(list(events), returncode, b"", 1.0)


def raised(where: str) -> dict[str, Any]:
    frames = [{"module": "triton.runtime.jit", "line": 710, "function": "dynamic_func"}]
    error = {"type": "TypeError", "message": "dynamic_func() missing 1 required", "frames": frames}
    return {"event": "raised", "rank": 0, "where": where, "error": error}


def test_bind_says_how_much_of_the_kernels_signature_was_checked() -> None:
    found = verdicts.bind(child(ARRIVED))
    assert found.outcome == "pass"
    assert found.summary == "33 of the kernel's 46 parameters arrive as they should"


def test_bind_fails_on_a_value_under_the_wrong_parameter() -> None:
    found = verdicts.bind(child({**ARRIVED, "wrong": ["stride_bk arrived as 272, not 1"]}))
    assert found.outcome == "fail"
    assert "stride_bk" in found.summary


@pytest.mark.parametrize("verdict", [verdicts.bind, verdicts.compiled, verdicts.kernel])
def test_a_launch_that_does_not_bind_is_a_broken_contract_on_every_rung(verdict: Any) -> None:
    assert verdict(child(raised("call"))).outcome == "fail"
    assert verdict(child(raised("elsewhere"))).outcome == "error"
    assert verdict(child({"event": "finished", "rank": 0})).outcome == "error"


def test_compile_names_each_target_and_fails_when_one_is_not_built() -> None:
    found = verdicts.compiled(child({"event": "triton", "version": "3.6.0"}, BUILT))
    assert found.outcome == "pass"
    assert found.summary == "Triton 3.6.0: sm_100 cubin of 89 KiB, 10 KiB shared"
    broken = {"event": "built", "target": "sm_90", "error": {"message": "no such type"}}
    assert verdicts.compiled(child(BUILT, broken)).outcome == "fail"


def test_kernel_passes_when_every_case_agrees_and_says_how_near_a_mistake_would_be() -> None:
    found = verdicts.kernel(child(MACHINE, RAN, {**RAN, "tokens": 2, "error": 0.003}))
    assert found.outcome == "pass"
    assert "2 cases agree" in found.summary
    assert "0.0045 at most (limit 0.0078; the nearest planted mistake 0.1)" in found.summary
    assert (found.details["verdict"], found.details["capability"]) == ("ran", [9, 0])


@pytest.mark.parametrize(
    "run",
    [{"error": 0.56}, {"error": float("nan")}, {"finite": False}, {"launches": 0},
     {"against_wrong": {"routing weights lost": 0.005}}],
    ids=["too far", "NaN", "Inf", "never launched", "blind to a mistake"],
)  # fmt: skip
def test_kernel_fails_when_numbers_are_wrong_or_would_not_show_it(run: dict[str, Any]) -> None:
    assert verdicts.kernel(child(MACHINE, RAN, {**RAN, **run})).outcome == "fail"


def test_no_gpu_is_a_skip() -> None:
    assert verdicts.kernel(child({"event": "no cuda", "rank": 0, "reason": "no GPU"})).outcome == "skip"
