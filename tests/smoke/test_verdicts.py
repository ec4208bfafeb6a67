from __future__ import annotations

import json
import platform
from typing import Any

import pytest
from pinproof.smoke import verdicts as common
from pinproof.smoke.probes.kimi_k3_megamoe import verdicts
from pinproof.smoke.process import Child

ARRIVED = {
    "event": "arrived", "rank": 0, "wrong": [], "stand_ins": [],
    "values": {"situ_beta": 1.75, "situ_linear_beta": 6.5, "activation": "situ"},
}  # fmt: skip
MACHINE = {"event": "machine", "rank": 0, "nproc": 1, "capability": [9, 0], "gpu": "NVIDIA H200"}
PARTS = {
    "event": "parts", "rank": 0, "staging": {"x": 0, "x_sf": 0}, "situ_and_mul": 0.001,
    "situ_and_mul_tolerance": 0.004, "loop64": 1e-8, "loop64_tolerance": 2e-4,
    "wrong_scales": {"swapped": 0.4}, "kernel_tolerance": 0.03,
}  # fmt: skip
RAN = {
    "event": "ran", "rank": 0, "finite": True, "error": 0.01, "tolerance": 0.03,
    "against_wrong": {"swapped": 0.4},
}  # fmt: skip
GENERATED = {
    "event": "generated", "rank": 0, "tokens": [1, 2], "deterministic": True, "finite": True,
    "logits": [[0.5]], "digest": "d", "backend": "auto", "seconds": 3.0,
}  # fmt: skip


def child(*events: dict[str, Any], returncode: int = 0, log: bytes = b"") -> Child:
    return Child(list(events), returncode, log, 1.0)


def raised(
    where: str, kind: str = "TypeError", text: str = "got an unexpected keyword argument"
) -> dict[str, Any]:
    frames = [{"module": "vllm.models.kimi_k3.nvidia.model", "line": 482, "function": "forward"}]
    return {"event": "raised", "rank": 0, "where": where,
            "error": {"type": kind, "message": text, "frames": frames}}  # fmt: skip


REFUSED = raised("kernel", "RuntimeError", "Assertion error (/build/csrc/layout.hpp:67): arch_major == 10")


def test_bind_passes_when_the_call_arrives_with_the_right_values() -> None:
    found = verdicts.bind(child(ARRIVED))
    assert found.outcome == "pass"
    assert "situ_beta=1.75, situ_linear_beta=6.5" in found.summary


def test_bind_fails_on_a_value_under_the_wrong_name() -> None:
    found = verdicts.bind(child({**ARRIVED, "wrong": ["situ_beta arrived as 6.5, not 1.75"]}))
    assert found.outcome == "fail"
    assert "not 1.75" in found.summary


def test_bind_fails_on_the_type_error_of_the_call() -> None:
    found = verdicts.bind(child(raised("call")))
    assert found.outcome == "fail"
    assert found.summary.startswith("contract broken: TypeError at vllm.models.kimi_k3.nvidia.model:482")


def test_a_type_error_elsewhere_is_an_error_of_the_run_and_not_a_broken_contract() -> None:
    assert verdicts.bind(child(raised("elsewhere"))).outcome == "error"


def test_an_extension_that_refuses_the_wrappers_arguments_is_told_apart() -> None:
    found = verdicts.bind(child(raised("wrapper")))
    assert found.outcome == "fail"
    assert "the wrapper does not fit its extension" in found.summary


def test_a_tree_without_the_model_is_a_skip() -> None:
    found = verdicts.bind(child({"event": "absent", "rank": 0, "what": "KimiK3MegaMoEExperts"}))
    assert found.outcome == "skip"
    assert found.reason == "this tree has no KimiK3MegaMoEExperts"


def test_a_child_that_found_nothing_is_never_a_pass() -> None:
    for verdict in (verdicts.bind, verdicts.kernel):
        assert verdict(child({"event": "finished", "rank": 0})).outcome in ("error", "fail")
    made = verdicts.generated(child({"event": "finished", "rank": 0}))
    assert not isinstance(made, dict)
    assert made.outcome == "error"


def test_kernel_holds_when_an_older_architecture_is_refused_inside_the_library() -> None:
    past = {"event": "stepped past", "rank": 0, "where": "guard"}
    found = verdicts.kernel(child(MACHINE, past, REFUSED, PARTS))
    assert found.outcome == "pass"
    assert found.summary.startswith("contract holds, the kernel refused SM90 (stepped past before it: guard)")
    assert "/build" not in found.summary


def test_the_same_refusal_on_sm100_is_an_error() -> None:
    found = verdicts.kernel(child({**MACHINE, "capability": [10, 0]}, REFUSED, PARTS))
    assert found.outcome == "error"


def test_kernel_fails_on_the_type_error_of_the_call() -> None:
    found = verdicts.kernel(child(MACHINE, raised("call"), PARTS))
    assert found.outcome == "fail"
    assert found.summary.startswith("contract broken")


@pytest.mark.parametrize(
    "part",
    [{"staging": {"x": 3}}, {"situ_and_mul": 0.1}, {"situ_and_mul": float("nan")}, {"loop64": 0.1},
     {"wrong_scales": {"swapped": 0.01}}, {"wrong_scales": {"swapped": float("nan")}}],
)  # fmt: skip
def test_kernel_fails_when_the_parts_around_it_disagree(part: dict[str, Any]) -> None:
    assert verdicts.kernel(child(MACHINE, REFUSED, {**PARTS, **part})).outcome == "fail"


def test_kernel_fails_when_a_rank_compared_nothing() -> None:
    assert verdicts.kernel(child({**MACHINE, "nproc": 2}, REFUSED, PARTS)).outcome == "fail"


def test_kernel_passes_when_it_ran_and_agrees() -> None:
    found = verdicts.kernel(child({**MACHINE, "capability": [10, 0]}, RAN, PARTS))
    assert found.outcome == "pass"
    assert found.details["verdict"] == "ran"


@pytest.mark.parametrize(
    "run",
    [{"error": 0.04}, {"error": float("nan")}, {"finite": False}, {"against_wrong": {"swapped": 0.02}}],
    ids=["too far", "NaN", "Inf", "blind to a swap"],
)
def test_kernel_fails_when_its_numbers_are_wrong_or_would_not_show_it(run: dict[str, Any]) -> None:
    assert verdicts.kernel(child({**MACHINE, "capability": [10, 0]}, {**RAN, **run}, PARTS)).outcome == "fail"


def test_no_gpu_is_a_skip_with_the_reason() -> None:
    found = verdicts.kernel(child({"event": "no cuda", "rank": 0, "reason": "no GPU, or an old driver"}))
    assert found.outcome == "skip"
    assert found.reason == "no GPU, or an old driver"


@pytest.mark.parametrize(("field", "text"), [("finite", "NaN"), ("deterministic", "differ")])
def test_the_model_must_be_finite_and_deterministic(field: str, text: str) -> None:
    found = verdicts.generated(child({**GENERATED, field: False}))
    assert not isinstance(found, dict)
    assert found.outcome == "fail"
    assert text in found.summary
    assert "logits" not in found.details


def test_what_the_model_generated_is_handed_on() -> None:
    assert verdicts.generated(child(GENERATED)) == GENERATED


def test_a_vllm_that_was_not_built_for_this_machine_is_a_skip_that_says_so() -> None:
    crash = {"event": "crashed", "rank": 0, "missing": "vllm._C_stable_libtorch", "error": {}}
    found = verdicts.bind(child(crash, returncode=1))
    assert found.outcome == "skip"
    assert "was not built for this machine" in str(found.reason)


def test_a_package_is_named_as_pip_knows_it() -> None:
    crash = {"event": "crashed", "rank": 0, "missing": "zmq.asyncio", "error": {}}
    assert verdicts.bind(child(crash, returncode=1)).clear == "PYTHON -m pip install pyzmq"


def test_a_missing_package_is_told_with_the_module_that_imports_it_and_no_more() -> None:
    frames = [
        {"module": "vllm.models.kimi_k3.nvidia.model", "line": 9, "function": "<module>"},
        {"module": "vllm.cute_utils", "line": 4, "function": "<module>"},
        {"module": "importlib._bootstrap", "line": 1, "function": "_find_and_load"},
    ]
    crash = {"event": "crashed", "rank": 0, "missing": "cutlass", "error": {"frames": frames}}
    found = verdicts.bind(child(crash, returncode=1))
    assert found.reason == "the interpreter has no cutlass, which vllm.cute_utils imports"
    assert found.clear == "PYTHON -m pip install nvidia-cutlass-dsl"


def test_a_killed_child_is_an_error_with_the_end_of_its_log() -> None:
    found = verdicts.bind(child(returncode=-9, log=b"one\ntwo\n"))
    assert found.outcome == "error"
    assert found.details["log_tail"] == "one\ntwo"


def test_the_machines_name_is_left_out_of_a_record() -> None:
    log = f"  host      : {platform.node()}\n  rank      : 1 (local_rank: 1)\n".encode()
    tail = verdicts.bind(child(returncode=1, log=log)).details["log_tail"]
    assert "host      : HOST" in tail
    assert "rank      : 1" in tail


def test_words_that_look_like_the_watchdog_are_no_hang() -> None:
    found = verdicts.bind(child(returncode=1, log=b"Timeout (s): 30\n"))
    assert "hung" not in found.summary


def test_relative_error_of_nan_is_nan() -> None:
    error = common.relative_error([float("nan")], [1.0])
    assert error != error


def test_results_are_json() -> None:
    import msgspec

    for found in (verdicts.bind(child(ARRIVED)), verdicts.kernel(child(MACHINE, REFUSED, PARTS))):
        assert json.loads(msgspec.json.encode(found))["outcome"] == "pass"
