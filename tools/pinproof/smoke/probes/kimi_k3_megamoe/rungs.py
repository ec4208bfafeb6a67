"""The rungs of this probe: bind, compile, kernel, model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from pinproof.errors import CannotCheck
from pinproof.smoke.probes.kimi_k3_megamoe import compile as kernel_build
from pinproof.smoke.probes.kimi_k3_megamoe import verdicts
from pinproof.smoke.probes.kimi_k3_megamoe.library import wrapper_files
from pinproof.smoke.record import RungResult
from pinproof.smoke.rungs import (
    BIND_TIMEOUT_S,
    KERNEL_TIMEOUT_S,
    MODEL_TIMEOUT_S,
    absent,
    no_gpu,
    run_on,
    skipped,
)
from pinproof.smoke.session import Session
from pinproof.smoke.verdicts import relative_error
from pinproof.tree import Tree

CHILD = "probes.kimi_k3_megamoe.child"
MODEL = "vllm/models/kimi_k3/nvidia/model.py"

MINE, TWIN, ONE_GPU = "this tree", "patch the other way round", "one GPU"

LAYOUT_TOLERANCE = 2.0**-4
"""First logits on N GPUs against one: bf16 sums in another order, 2 ** -9 each, over some forty
operations a layer path (docs/gpu-runners.md); a wrong shard or a lost expert is of order one."""


def run_bind(session: Session, below: Sequence[RungResult]) -> RungResult:
    """The real forward with the pinned wrapper and a recorder below it."""
    early = absent(session, "bind", MODEL)
    if early is not None:
        return early
    # Where vLLM sees a GPU it wants its compiled parts at import; elsewhere it does without.
    compiled = session.gpu is not None
    try:
        more = {} if compiled else wrapper_files(session.tree)
    except CannotCheck as error:
        return skipped("bind", error.message, error.hint)
    child = run_on(session, "bind", f"{CHILD}.bind", compiled=compiled, timeout_s=BIND_TIMEOUT_S, more=more)
    return child if isinstance(child, RungResult) else verdicts.bind(child)


def run_compile(session: Session, below: Sequence[RungResult]) -> RungResult:
    """The pinned kernel's source with the scales that rung bind saw arrive."""
    return kernel_build.run_compile(session.tree, session.base, delivered(below))


def delivered(below: Sequence[RungResult]) -> dict[str, float]:
    """The scales that the call delivered in rung bind, empty when it was not run."""
    for done in below:
        if done.rung == "bind" and done.outcome == "pass":
            values = done.details["values"]
            return {name: value for name, value in values.items() if isinstance(value, float)}
    return {}


def run_kernel(session: Session, below: Sequence[RungResult]) -> RungResult:
    """The real experts and the real library on the GPU."""
    early = absent(session, "kernel", MODEL) or no_gpu(session, "kernel")
    if early is not None:
        return early
    child = run_on(
        session, "kernel", f"{CHILD}.kernel", compiled=True, timeout_s=KERNEL_TIMEOUT_S, nproc=session.nproc
    )
    return child if isinstance(child, RungResult) else verdicts.kernel(child)


def run_model(session: Session, below: Sequence[RungResult]) -> RungResult:
    """The tiny model through vLLM's engine; with a patch, both sides of it; with N GPUs, also one."""
    early = absent(session, "model", MODEL) or no_gpu(session, "model")
    if early is not None:
        return early
    start = time.monotonic()
    runs: dict[str, dict[str, Any]] = {}
    log = None
    for name, tree, nproc in plan(session):
        child = run_on(
            session, "model", f"{CHILD}.model", compiled=True, timeout_s=MODEL_TIMEOUT_S, nproc=nproc,
            tree=tree,
        )  # fmt: skip
        found = child if isinstance(child, RungResult) else verdicts.generated(child)
        if isinstance(found, RungResult):
            return found
        assert not isinstance(child, RungResult)
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
            error = relative_error(twin["logits"][0], mine["logits"][0])
            faults.append(
                f"the patch changes a backend that it does not touch (first logits differ by {error:.2g})"
            )
    if one is not None:
        error = relative_error(mine["logits"][0], one["logits"][0])
        details |= {
            "layout_error": error,
            "layout_tolerance": LAYOUT_TOLERANCE,
            "one_gpu_tokens": one["tokens"],
        }
        if not error <= LAYOUT_TOLERANCE:
            faults.append(f"first logits are {error:.2g} from one GPU's (limit {LAYOUT_TOLERANCE:.2g})")
    return faults, details
