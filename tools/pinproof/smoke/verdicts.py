"""What a child's report means: pure functions from its events to a rung's outcome."""

from __future__ import annotations

import platform
import re
from typing import Any

from pinproof.smoke.process import Child
from pinproof.smoke.record import Rung, RungResult, scrub

SM100 = 10
"""Major compute capability of the only GPUs that the MegaMoE kernel runs on."""


_WATCHDOG = re.compile(rb"^Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!$", re.MULTILINE)
"""How faulthandler begins the dump that ends a child which ran too long."""

_DISTRIBUTIONS = {
    "PIL": "pillow",
    "tvm_ffi": "apache-tvm-ffi",
    "cv2": "opencv-python-headless",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
"""Packages that are installed under another name than they are imported by."""


def result(rung: Rung, child: Child, outcome: Any, summary: str, **more: Any) -> RungResult:
    """A rung's result, with the child's time and log and without paths of this machine."""
    fields = {key: scrub(value) for key, value in more.items()}
    return RungResult(
        rung=rung, outcome=outcome, summary=scrub(summary), duration_s=round(child.duration_s, 1),
        log_sha256=child.log_sha256, **fields,
    )  # fmt: skip


def broken_run(rung: Rung, child: Child) -> RungResult | None:
    """The result when the child did not get to a finding: hung, killed, an exception; None when it did.

    A package that the interpreter lacks is a skip: the proof could not be run here. Anything else is
    an error.
    """
    if child.hung or (child.returncode != 0 and _WATCHDOG.search(child.log)):
        text = f"hung while {child.last_step()}; stopped, all stacks are in the log"
        return result(rung, child, "error", text, reason=text, details={"stacks": stacks(child)})
    crash = child.first("crashed")
    if crash is not None and crash.get("missing"):
        return _lacks(rung, child, crash["missing"])
    if crash is not None:
        error = crash["error"]
        text = f"{error['type']} while {child.last_step()}: {first_line(error['message'])}"
        return result(rung, child, "error", text, reason=text, details={"error": error})
    if child.returncode != 0:
        how = f"signal {-child.returncode}" if child.returncode < 0 else f"exit status {child.returncode}"
        text = f"the child process ended with {how} while {child.last_step()}"
        return result(
            rung, child, "error", text, reason=text, details={"log_tail": _without_host(child.tail())}
        )
    return None


def _lacks(rung: Rung, child: Child, module: str) -> RungResult:
    """The skip for an interpreter without a package that the tree imports."""
    package = module.split(".")[0]
    name = _DISTRIBUTIONS.get(package, package)
    text = f"the interpreter has no {package}: the tree's vllm does not import"
    clear = f"PYTHON -m pip install {name}"
    if package == "vllm":
        text = f"the tree's vllm was not built for this machine: no {module}"
        clear = "build it (PYTHON -m pip install -e TREE), or give a PYTHON with a built vLLM of this version"
    return result(rung, child, "skip", text, reason=text, clear=clear)


def stacks(child: Child) -> str:
    """The watchdog's dump of all threads, empty where the child could not write one."""
    dump = _WATCHDOG.search(child.log)
    return child.log[dump.start() :].decode(errors="replace")[:4000] if dump else ""


def _without_host(text: str) -> str:
    """`text` without this machine's name, which torch's launcher prints when a rank fails."""
    name = platform.node()
    return re.sub(rf"\b{re.escape(name)}\b", "HOST", text) if name else text


def first_line(text: str) -> str:
    """The first line of a message, at most 300 characters."""
    return text.strip().split("\n", 1)[0][:300]


def nothing_to_run(rung: Rung, child: Child) -> RungResult | None:
    """The skips that a child itself reports: no GPU, no such class in the tree."""
    for event, field, text in (("no cuda", "reason", ""), ("absent", "what", "this tree has no ")):
        found = child.first(event)
        if found is not None:
            return result(rung, child, "skip", text + found[field], reason=text + found[field])
    return None


def bind(child: Child) -> RungResult:
    """Pass when the call arrived with the right values; fail on the TypeError or a wrong value."""
    early = broken_run("bind", child) or nothing_to_run("bind", child)
    if early is not None:
        return early
    raised, arrived = child.first("raised"), child.first("arrived")
    if raised is not None:
        return _raised("bind", child, raised)
    if arrived is None:
        text = "the child ended without a finding"
        return result("bind", child, "error", text, reason=text)
    values = arrived["values"]
    if arrived["wrong"]:
        return result("bind", child, "fail", "; ".join(arrived["wrong"]), details=bare(arrived))
    scales = ", ".join(f"{k}={v}" for k, v in values.items() if "beta" in k or "alpha" in k)
    return result(
        "bind", child, "pass", f"the call arrives at the pinned wrapper with {scales}", details=arrived
    )


def _raised(rung: Rung, child: Child, raised: dict[str, Any], **details: Any) -> RungResult:
    error, place = raised["error"], raised["where"]
    last = error["frames"][-1] if error["frames"] else {"module": "?", "line": 0}
    text = f"{error['type']} at {last['module']}:{last['line']}: {first_line(error['message'])}"
    found = {"where": place, "error": error, **details}
    if place == "call":
        return result(rung, child, "fail", f"contract broken: {text}", details=found)
    if place == "wrapper":
        return result(rung, child, "fail", f"the wrapper does not fit its extension: {text}", details=found)
    return result(rung, child, "error", text, reason=text, details=found)


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
        return _raised("kernel", child, raised, **details)
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
        text = "the child ended without a finding"
        return result("model", child, "error", text, reason=text)
    for good, text in ((found["finite"], "logits hold NaN or Inf"),
                       (found["deterministic"], "two runs of the same prompt differ")):  # fmt: skip
        if not good:
            return result("model", child, "fail", text, details=bare(found))
    return found


def bare(event: dict[str, Any]) -> dict[str, Any]:
    """An event as the record keeps it; logits are kept as their digest only."""
    return {key: value for key, value in event.items() if key not in ("event", "logits")}


def relative_error(ours: list[float], reference: list[float]) -> float:
    """||ours - reference|| / ||reference||; NaN when either holds one."""
    difference = sum((a - b) ** 2 for a, b in zip(ours, reference, strict=True)) ** 0.5
    return float(difference / (sum(b * b for b in reference) ** 0.5))
