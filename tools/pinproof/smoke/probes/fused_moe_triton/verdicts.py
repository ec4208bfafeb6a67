"""What the children of this probe report, as rung results: pure functions."""

from __future__ import annotations

from typing import Any

from pinproof.smoke.process import Child
from pinproof.smoke.record import RungResult
from pinproof.smoke.verdicts import bare, broken_run, no_finding, nothing_to_run, raised_in, result


def bind(child: Child) -> RungResult:
    """Pass when every value arrived under the kernel's own parameter."""
    early = broken_run("bind", child) or nothing_to_run("bind", child)
    if early is not None:
        return early
    raised, arrived = child.first("raised"), child.first("arrived")
    if raised is not None:
        return raised_in("bind", child, raised)
    if arrived is None:
        return no_finding("bind", child)
    if arrived["wrong"]:
        return result("bind", child, "fail", "; ".join(arrived["wrong"]), details=bare(arrived))
    text = f"{arrived['checked']} of the kernel's {arrived['parameters']} parameters arrive as they should"
    return result("bind", child, "pass", text, details=bare(arrived))


def compiled(child: Child) -> RungResult:
    """Pass when Triton built the kernel for every target."""
    early = broken_run("compile", child) or nothing_to_run("compile", child)
    if early is not None:
        return early
    raised = child.first("raised")
    if raised is not None:
        return raised_in("compile", child, raised)
    built = [bare(event) for event in child.all("built")]
    if not built:
        return no_finding("compile", child)
    failed = [one for one in built if one.get("error")]
    if failed:
        text = f"Triton does not build the kernel for {failed[0]['target']}: {failed[0]['error']['message']}"
        return result("compile", child, "fail", text[:300], details={"built": built})
    text = "; ".join(
        f"{one['target']} cubin of {one['cubin_bytes'] // 1024} KiB, {one['shared_bytes'] // 1024} KiB shared"
        for one in built
    )
    details = {"built": built, "triton": (child.first("triton") or {}).get("version")}
    return result("compile", child, "pass", f"Triton {details['triton']}: {text}", details=details)


def kernel(child: Child) -> RungResult:
    """Pass when every case agrees with the reference and every planted mistake would be noticed."""
    early = broken_run("kernel", child) or nothing_to_run("kernel", child)
    if early is not None:
        return early
    raised = child.first("raised")
    if raised is not None:
        return raised_in("kernel", child, raised)
    cases = [bare(event) for event in child.all("ran")]
    if not cases:
        return no_finding("kernel", child)
    details: dict[str, Any] = {
        "verdict": "ran", "cases": cases, "capability": (child.first("machine") or {}).get("capability", [0]),
    }  # fmt: skip
    faults = [text for case in cases for text in faults_of(case)]
    if faults:
        return result("kernel", child, "fail", "; ".join(faults), details=details)
    worst = max(case["error"] for case in cases)
    text = (
        f"{len(cases)} cases agree with a float64 reference: relative error {worst:.2g} at most "
        f"(limit {cases[0]['tolerance']:.2g}; the nearest planted mistake {nearest(cases):.2g})"
    )
    return result("kernel", child, "pass", text, details=details)


def nearest(cases: list[dict[str, Any]]) -> float:
    """The smallest error that a planted mistake makes."""
    return min(float(error) for case in cases for error in case["against_wrong"].values())


def faults_of(case: dict[str, Any]) -> list[str]:
    """What is wrong with one case's output. NaN compares as wrong."""
    name = f"{case['tokens']} tokens"
    faults = [] if case["finite"] else [f"{name}: the output holds NaN or Inf"]
    if not case["error"] <= case["tolerance"]:
        faults.append(f"{name}: relative error {case['error']:.3g} is over {case['tolerance']:.3g}")
    if not case["launches"]:
        faults.append(f"{name}: the kernel was not launched")
    for wrong, error in case["against_wrong"].items():
        if not error > case["tolerance"]:
            faults.append(f"{name}: the comparison would not notice {wrong} ({error:.3g})")
    return faults
