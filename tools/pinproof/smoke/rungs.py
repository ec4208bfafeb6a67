"""The rungs that run the tree under the user's interpreter: bind, kernel, model."""

from __future__ import annotations

import time
from typing import Any

from pinproof.errors import CannotCheck
from pinproof.smoke import verdicts
from pinproof.smoke.record import Rung, RungResult, scrub
from pinproof.smoke.session import Session
from pinproof.tree import Tree

CALL_SITE = "vllm/models/kimi_k3/nvidia/model.py"

BIND_TIMEOUT_S = 300.0
KERNEL_TIMEOUT_S = 240.0
MODEL_TIMEOUT_S = 540.0

MINE, TWIN, ONE_GPU = "this tree", "patch the other way round", "one GPU"

LAYOUT_TOLERANCE = 2.0**-4
"""First logits on N GPUs against one: bf16 sums in another order, 2 ** -9 each, over some forty
operations a layer path (docs/gpu-runners.md); a wrong shard or a lost expert is of order one."""


def skipped(rung: Rung, reason: str, clear: str | None = None) -> RungResult:
    """A rung that cannot be run here."""
    reason = scrub(reason)
    return RungResult(rung=rung, outcome="skip", summary=reason, reason=reason, clear=clear)


def absent(session: Session, rung: Rung) -> RungResult | None:
    """The skip for a tree from before Kimi-K3, None when it has the model."""
    if session.tree.read(CALL_SITE) is None:
        return skipped(rung, f"this tree has no {CALL_SITE}")
    return None


def run_bind(session: Session) -> RungResult:
    """The real forward with the pinned wrapper and a recorder below it."""
    early = absent(session, "bind")
    if early is not None:
        return early
    try:
        # Where vLLM sees a GPU it wants its compiled parts at import; elsewhere it does without.
        tree = session.lay(session.tree, compiled=session.gpu is not None)
    except CannotCheck as error:
        return skipped("bind", error.message, error.hint)
    return verdicts.bind(session.run("bind", tree, timeout_s=BIND_TIMEOUT_S))


def no_gpu(session: Session, rung: Rung) -> RungResult | None:
    """The skip for a machine without enough GPUs, None when there are enough."""
    if session.gpu is None:
        driver = session.probe.get("driver")
        torch = session.probe["versions"].get("torch")
        if torch is None:
            return skipped(rung, "the interpreter has no torch", "give --python with torch and vLLM")
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
    early = absent(session, "kernel") or no_gpu(session, "kernel")
    if early is not None:
        return early
    try:
        tree = session.lay(session.tree, compiled=True)
    except CannotCheck as error:
        return skipped("kernel", error.message, error.hint)
    child = session.run("kernel", tree, timeout_s=KERNEL_TIMEOUT_S, nproc=session.nproc)
    return verdicts.kernel(child)


def run_model(session: Session) -> RungResult:
    """The tiny model through vLLM's engine; with a patch, both sides of it; with N GPUs, also one."""
    early = absent(session, "model") or no_gpu(session, "model")
    if early is not None:
        return early
    start = time.monotonic()
    runs: dict[str, dict[str, Any]] = {}
    log = None
    for name, tree, nproc in plan(session):
        try:
            laid = session.lay(tree, compiled=True)
        except CannotCheck as error:
            return skipped("model", error.message, error.hint)
        child = session.run("model", laid, timeout_s=MODEL_TIMEOUT_S, nproc=nproc)
        found = verdicts.generated(child)
        if isinstance(found, RungResult):
            return found
        runs[name], log = found, log or child.log_sha256
    faults, details = judge_model(runs)
    return RungResult(
        rung="model", outcome="fail" if faults else "pass", summary="; ".join(faults) or praise(details),
        details=details, duration_s=round(time.monotonic() - start, 1), log_sha256=log,
    )  # fmt: skip


def plan(session: Session) -> list[tuple[str, Tree, int]]:
    """The runs of the model: name, tree and number of GPUs. This tree comes first."""
    runs = [(MINE, session.tree, session.nproc)]
    if session.nproc > 1:
        runs.append((ONE_GPU, session.tree, 1))
    if session.twin is not None and (session.gpu or {}).get("capability", [0])[0] != verdicts.SM100:
        runs.append((TWIN, session.twin, session.nproc))
    return runs


def praise(details: dict[str, Any]) -> str:
    """What a passing model rung showed."""
    text = f"{len(details['tokens'])} tokens, finite, the same in two runs"
    if details.get("twin_equal"):
        text += ", the same with the patch the other way round"
    if "layout_error" in details:
        text += f", first logits within {details['layout_error']:.2g} of one GPU's"
    return text


def judge_model(runs: dict[str, dict[str, Any]]) -> tuple[list[str], dict[str, Any]]:
    """What is wrong between the runs, and what the record keeps of them.

    Args:
        runs: what each run generated, by name.
    """
    mine, twin, one = runs[MINE], runs.get(TWIN), runs.get(ONE_GPU)
    faults: list[str] = []
    details: dict[str, Any] = {
        "backend": mine["backend"], "tokens": mine["tokens"], "logits_sha256": mine["digest"],
        "seconds": {name: run["seconds"] for name, run in runs.items()},
    }  # fmt: skip
    if twin is not None:
        details["twin_equal"] = twin["digest"] == mine["digest"]
        if not details["twin_equal"]:
            error = verdicts.relative_error(twin["logits"][0], mine["logits"][0])
            faults.append(
                f"the patch changes a backend that it does not touch (first logits differ by {error:.2g})"
            )
    if one is not None:
        error = verdicts.relative_error(mine["logits"][0], one["logits"][0])
        details |= {
            "layout_error": error,
            "layout_tolerance": LAYOUT_TOLERANCE,
            "one_gpu_tokens": one["tokens"],
        }
        if not error <= LAYOUT_TOLERANCE:
            faults.append(f"first logits are {error:.2g} from one GPU's (limit {LAYOUT_TOLERANCE:.2g})")
    return faults, details
