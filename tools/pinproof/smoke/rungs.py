"""The rungs that run the tree under the user's interpreter: bind, kernel, model."""

from __future__ import annotations

import time
from typing import Any

from pinproof.errors import CannotCheck
from pinproof.smoke import verdicts
from pinproof.smoke.record import Rung, RungResult
from pinproof.smoke.session import Session

BIND_TIMEOUT_S = 120.0
KERNEL_TIMEOUT_S = 240.0
MODEL_TIMEOUT_S = 540.0

LAYOUT_TOLERANCE = 2.0**-4
"""First logits on N GPUs against one: bf16 sums in another order, 2 ** -9 each, over some forty
operations a layer path (docs/gpu-runners.md); a wrong shard or a lost expert is of order one."""


def skipped(rung: Rung, reason: str, clear: str | None = None) -> RungResult:
    """A rung that cannot be run here."""
    return RungResult(rung=rung, outcome="skip", summary=reason, reason=reason, clear=clear)


def run_bind(session: Session) -> RungResult:
    """The real forward with the pinned wrapper and a recorder below it."""
    try:
        tree = session.laid(session.tree, "tree", compiled=False)
    except CannotCheck as error:
        return skipped("bind", error.message, error.hint)
    return verdicts.bind(session.run("bind", tree, timeout_s=BIND_TIMEOUT_S), session.python)


def no_gpu(session: Session, rung: Rung) -> RungResult | None:
    """The skip for a machine without enough GPUs, None when there are enough."""
    if session.gpu is None:
        driver = session.probe.get("driver")
        torch = session.probe["versions"].get("torch")
        if torch is None:
            return skipped(rung, f"{session.python} has no torch", "give --python with torch and vLLM")
        return skipped(rung, f"no CUDA GPU: torch {torch} sees none" + (
            f", although driver {driver} is loaded (too old for this torch?)" if driver else ""))  # fmt: skip
    if session.gpu["count"] < session.nproc:
        return skipped(
            rung, f"--nproc {session.nproc} asks for more than the {session.gpu['count']} GPU here"
        )
    if session.gpu["free_gib"] < 4:
        return skipped(rung, f"too little GPU memory: {session.gpu['free_gib']} GiB free, 4 needed")
    return None


def run_kernel(session: Session) -> RungResult:
    """The real experts and the real library on the GPU."""
    early = no_gpu(session, "kernel")
    if early is not None:
        return early
    try:
        tree = session.laid(session.tree, "tree", compiled=True)
    except CannotCheck as error:
        return skipped("kernel", error.message, error.hint)
    child = session.run("kernel", tree, timeout_s=KERNEL_TIMEOUT_S, nproc=session.nproc)
    return verdicts.kernel(child, session.python)


def run_model(session: Session) -> RungResult:
    """The tiny model through vLLM's engine; with a patch, both sides of it; with N GPUs, also one."""
    early = no_gpu(session, "model")
    if early is not None:
        return early
    start = time.monotonic()
    try:
        tree = session.laid(session.tree, "tree", compiled=True)
        twin = session.laid(session.twin, "twin", compiled=True) if session.twin else None
    except CannotCheck as error:
        return skipped("model", error.message, error.hint)
    child = session.run("model", tree, timeout_s=MODEL_TIMEOUT_S, nproc=session.nproc)
    found = verdicts.generated(child, session.python)
    if isinstance(found, RungResult):
        return found
    runs = {"this tree": found}
    mega = found["backend"] != "auto"
    if twin is not None and not mega:
        runs["patch the other way round"] = other = _again(session, twin, session.nproc)
        if isinstance(other, RungResult):
            return other
    if session.nproc > 1:
        runs["one GPU"] = other = _again(session, tree, 1)
        if isinstance(other, RungResult):
            return other
    faults, details = judge_model(runs, mega)
    summary = "; ".join(faults) or (
        f"{len(found['tokens'])} tokens, finite, the same in two runs"
        + (", the same with the patch the other way round" if "patch the other way round" in runs else "")
        + (f", within {details['layout_error']:.2g} of one GPU" if "layout_error" in details else "")
    )
    return RungResult(
        rung="model", outcome="fail" if faults else "pass", summary=summary, details=details,
        duration_s=round(time.monotonic() - start, 1), log_sha256=child.log_sha256,
    )  # fmt: skip


def _again(session: Session, tree: Any, nproc: int) -> RungResult | dict[str, Any]:
    child = session.run("model", tree, timeout_s=MODEL_TIMEOUT_S, nproc=nproc)
    return verdicts.generated(child, session.python)


def judge_model(runs: dict[str, Any], mega: bool) -> tuple[list[str], dict[str, Any]]:
    """What is wrong between the runs, and what the record keeps of them.

    Args:
        runs: what each run generated, by name; `this tree` is always there.
        mega: whether the engine took the backend that the patch touches.
    """
    mine = runs["this tree"]
    faults: list[str] = []
    details: dict[str, Any] = {
        "backend": mine["backend"], "tokens": mine["tokens"], "logits_sha256": mine["digest"],
        "seconds": {name: run["seconds"] for name, run in runs.items()},
    }  # fmt: skip
    other = runs.get("patch the other way round")
    if other is not None:
        details["twin_equal"] = other["digest"] == mine["digest"]
        if not details["twin_equal"]:
            error = verdicts.relative_error(other["logits"][0], mine["logits"][0])
            faults.append(
                f"the patch changes a backend that it does not touch (first logits differ by {error:.2g})"
            )
    elif mega:
        details["twin_equal"] = "not compared: this backend is the one that the patch touches"
    one = runs.get("one GPU")
    if one is not None:
        details["layout_error"] = verdicts.relative_error(mine["logits"][0], one["logits"][0])
        details["layout_tolerance"] = LAYOUT_TOLERANCE
        if not details["layout_error"] <= LAYOUT_TOLERANCE:
            faults.append(
                f"first logits are {details['layout_error']:.2g} from one GPU's (limit {LAYOUT_TOLERANCE:.2g})"
            )
    return faults, details
