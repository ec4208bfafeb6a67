"""What the children of this probe report, as rung results: pure functions."""

from __future__ import annotations

from typing import Any

from pinproof.smoke.process import Child
from pinproof.smoke.record import RungResult
from pinproof.smoke.verdicts import (
    bare,
    broken_run,
    first_line,
    no_finding,
    nothing_to_run,
    raised_in,
    result,
)

SM100 = 10
"""Major compute capability of the only GPUs that the MegaMoE kernel runs on."""


def bind(child: Child) -> RungResult:
    """Pass when the call arrived with the right values; fail on the TypeError or a wrong value."""
    early = broken_run("bind", child) or nothing_to_run("bind", child)
    if early is not None:
        return early
    raised, arrived = child.first("raised"), child.first("arrived")
    if raised is not None:
        return raised_in("bind", child, raised)
    if arrived is None:
        return no_finding("bind", child)
    values = arrived["values"]
    if arrived["wrong"]:
        return result("bind", child, "fail", "; ".join(arrived["wrong"]), details=bare(arrived))
    scales = ", ".join(f"{k}={v}" for k, v in values.items() if "beta" in k or "alpha" in k)
    return result(
        "bind", child, "pass", f"the call arrives at the pinned wrapper with {scales}", details=arrived
    )


def kernel(child: Child) -> RungResult:
    """Contract broken, contract held and the architecture refused, or ran and compared."""
    early = broken_run("kernel", child) or nothing_to_run("kernel", child)
    if early is not None:
        return early
    machine = child.first("machine") or {}
    parts = child.all("parts")
    details: dict[str, Any] = {
        "library": bare(child.first("library") or {}), "parts": [bare(part) for part in parts],
        "stepped_past": [bare(past) for past in child.all("stepped past")],
    }  # fmt: skip
    raised = child.first("raised")
    capability = machine.get("capability", [0, 0])
    if raised is not None and not (raised["where"] == "kernel" and capability[0] != SM100):
        return raised_in("kernel", child, raised, **details)
    wrong = [text for part in parts for text in wrong_parts(part)]
    if len(parts) < int(machine.get("nproc", 1)) or wrong:
        text = "; ".join(wrong) or "a rank reported no comparison"
        return result("kernel", child, "fail", text, details=details)
    if raised is not None:
        refusal = first_line(raised["error"]["message"])
        passed = " and ".join(past["where"] for past in details["stepped_past"]) or "nothing"
        sm = f"SM{capability[0]}{capability[1]}"
        text = f"contract holds, the kernel refused {sm} (stepped past before it: {passed}): {refusal}"
        details |= {"verdict": "contract holds, kernel refused this architecture", "error": raised["error"]}
        return result("kernel", child, "pass", text, details=details)
    return _ran(child, details, capability)


def _ran(child: Child, details: dict[str, Any], capability: list[int]) -> RungResult:
    runs = child.all("ran")
    details |= {"verdict": "ran", "ran": [bare(run) for run in runs], "capability": capability}
    faults = [text for run in runs for text in wrong_run(run)]
    if faults or not runs:
        return result("kernel", child, "fail", "; ".join(faults) or "no output to compare", details=details)
    worst = max(run["error"] for run in runs)
    limit = runs[0]["tolerance"]
    text = f"the kernel ran and agrees with the reference: relative error {worst:.2g} (limit {limit:.2g})"
    return result("kernel", child, "pass", text, details=details)


def wrong_run(run: dict[str, Any]) -> list[str]:
    """What is wrong with one rank's output. NaN compares as wrong."""
    faults = []
    if not run["finite"]:
        faults.append("the output holds NaN or Inf")
    if not run["error"] <= run["tolerance"]:
        faults.append(f"relative error {run['error']:.3g} is over {run['tolerance']:.3g}")
    for name, error in run["against_wrong"].items():
        if not error > run["tolerance"]:
            faults.append(f"the comparison would not notice: {name} ({error:.3g})")
    return faults


def wrong_parts(part: dict[str, Any]) -> list[str]:
    """What is wrong with one rank's comparisons of the kernel's surroundings. NaN compares as wrong."""
    faults = [f"{count} staged values of {name} differ" for name, count in part["staging"].items() if count]
    for name in ("situ_and_mul", "loop64"):
        if not part[name] <= part[f"{name}_tolerance"]:
            faults.append(f"{name}: relative error {part[name]:.3g} is over {part[f'{name}_tolerance']:.3g}")
    for name, error in part["wrong_scales"].items():
        if not error > part["kernel_tolerance"]:
            faults.append(f"the comparison would not notice: {name} ({error:.3g})")
    return faults


def generated(child: Child) -> RungResult | dict[str, Any]:
    """What the model generated, or the result when there is nothing to compare."""
    early = broken_run("model", child) or nothing_to_run("model", child)
    if early is not None:
        return early
    found = child.first("generated")
    if found is None:
        return no_finding("model", child)
    for good, text in ((found["finite"], "logits hold NaN or Inf"),
                       (found["deterministic"], "two runs of the same prompt differ")):  # fmt: skip
        if not good:
            return result("model", child, "fail", text, details=bare(found))
    return found
