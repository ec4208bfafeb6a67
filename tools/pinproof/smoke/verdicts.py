"""What a child's report means: pure functions from its events to a rung's outcome."""

from __future__ import annotations

import platform
import re
from typing import Any

from pinproof.smoke.process import Child
from pinproof.smoke.record import Rung, RungResult, scrub

_WATCHDOG = re.compile(rb"^Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!$", re.MULTILINE)
"""How faulthandler begins the dump that ends a child which ran too long."""

_DISTRIBUTIONS = {
    "PIL": "pillow",
    "cpuinfo": "py-cpuinfo",
    "cutlass": "nvidia-cutlass-dsl",
    "quack": "quack-kernels",
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
        return _lacks(rung, child, crash["missing"], importer(crash["error"]))
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


def importer(error: dict[str, Any]) -> str | None:
    """The module whose import statement failed: the last frame that is not Python's own machinery."""
    modules = [frame["module"] for frame in error.get("frames", [])]
    return next((name for name in reversed(modules) if not name.startswith("importlib.")), None)


def _lacks(rung: Rung, child: Child, module: str, wanted_by: str | None) -> RungResult:
    """The skip for an interpreter without a package that the tree imports, naming who imports it."""
    package = module.split(".")[0]
    name = _DISTRIBUTIONS.get(package, package)
    text = f"the interpreter has no {package}"
    if wanted_by and wanted_by.split(".")[0] not in ("__main__", "pinproof_smoke", package):
        text += f", which {wanted_by} imports"
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


def raised_in(rung: Rung, child: Child, raised: dict[str, Any], **details: Any) -> RungResult:
    """What an exception means by where it was raised: in the call under test, in the library, elsewhere.

    Args:
        rung: the rung that was run.
        child: the child that reported it.
        raised: its event, `where` and `error`.
        details: what the record keeps besides.
    """
    error, place = raised["error"], raised["where"]
    last = error["frames"][-1] if error["frames"] else {"module": "?", "line": 0}
    text = f"{error['type']} at {last['module']}:{last['line']}: {first_line(error['message'])}"
    found = {"where": place, "error": error, **details}
    if place == "call":
        return result(rung, child, "fail", f"contract broken: {text}", details=found)
    if place == "wrapper":
        return result(rung, child, "fail", f"the wrapper does not fit its extension: {text}", details=found)
    return result(rung, child, "error", text, reason=text, details=found)


def no_finding(rung: Rung, child: Child) -> RungResult:
    """The error for a child that ended well but reported nothing."""
    text = "the child ended without a finding"
    return result(rung, child, "error", text, reason=text)


def bare(event: dict[str, Any]) -> dict[str, Any]:
    """An event as the record keeps it; logits are kept as their digest only."""
    return {key: value for key, value in event.items() if key not in ("event", "logits")}


def relative_error(ours: list[float], reference: list[float]) -> float:
    """||ours - reference|| / ||reference||; NaN when either holds one."""
    difference = sum((a - b) ** 2 for a, b in zip(ours, reference, strict=True)) ** 0.5
    return float(difference / (sum(b * b for b in reference) ** 0.5))
