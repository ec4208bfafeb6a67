"""The smoke gate: climb the rungs as far as the machine allows, and say how far that was."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Literal

import msgspec

from pinproof.errors import Conflict
from pinproof.gate import GateResult, Outcome
from pinproof.patchset.change import contents_after, text_state
from pinproof.patchset.patchfile import Patch
from pinproof.pins import find_pin, read_pins
from pinproof.smoke.compile import nvcc_version, run_compile
from pinproof.smoke.record import RUNGS, Rung, RungResult, SmokeRecord, scrub, sha256
from pinproof.smoke.rungs import CALL_SITE, run_bind, run_kernel, run_model
from pinproof.smoke.session import Session, open_session
from pinproof.tree import Tree

Asked = Literal["auto", "bind", "compile", "kernel", "model"]


def smoke_gate(
    tree: Tree,
    python: str,
    rung: Asked = "auto",
    *,
    patch: Patch | None = None,
    nproc: int = 1,
    limit_s: float | None = None,
) -> GateResult:
    """Run the smoke rungs on a tree as it is.

    Args:
        tree: a tree on disk.
        python: the interpreter that has torch and vLLM, or at least what vLLM imports.
        rung: one rung, or `auto` for all that this machine allows, lowest first, up to a failure.
        patch: the patch to prove: its files are hashed into the record, and the model rung also runs
            the tree with the patch the other way round. The tree itself is never changed.
        nproc: GPUs for the kernel and model rungs.
        limit_s: how long one child process may run; None for each rung's own limit.

    Returns:
        pass when the rung asked for passed (`auto`: every rung that could be run); skip when it could
        not be run here. `details` is a SmokeRecord.

    Raises:
        Refused: another smoke run is at work on this tree.
        CannotCheck: the interpreter cannot be started.
    """
    started = time.monotonic()
    twin = twin_of(tree, patch)
    with open_session(tree, python, nproc=nproc, twin=twin, limit_s=limit_s) as session:
        results = climb(session, rung)
        record = make_record(session, patch, rung, results, time.monotonic() - started)
    outcome = overall(rung, results)
    unmet = next((r for r in results if r.outcome != "pass"), None) if outcome != "pass" else None
    return GateResult(
        gate="smoke",
        outcome=outcome,
        summary=summary(record),
        reason=(unmet.reason or unmet.summary) if unmet else None,
        clear=unmet.clear if unmet else None,
        duration_s=record.duration_s,
        details=msgspec.to_builtins(record),
    )


def twin_of(tree: Tree, patch: Patch | None) -> Tree | None:
    """The tree with the patch taken out where it is in, and put in where it is not; None for neither."""
    state = text_state(tree, patch) if patch else "neither"
    if patch is None or state not in ("applied", "applies"):
        return None
    try:
        changed = contents_after(tree, patch, reverse=state == "applied")
    except Conflict:
        return None
    return tree.with_changes({path: data for path, data in changed.items() if data is not None})


def climb(session: Session, asked: Asked) -> tuple[RungResult, ...]:
    """Run the rungs asked for; `auto` stops at the first that fails or breaks."""
    run: dict[Rung, Callable[[Session], RungResult]] = {
        "bind": run_bind, "kernel": run_kernel, "model": run_model,
        "compile": lambda s: run_compile(s.tree, s.base, delivered(results)),
    }  # fmt: skip
    results: list[RungResult] = []
    for rung in RUNGS if asked == "auto" else (asked,):
        if any(done.outcome in ("fail", "error") for done in results):
            reason = f"{results[-1].rung} did not pass"
            results.append(RungResult(rung=rung, outcome="not-run", summary=reason, reason=reason))
        else:
            results.append(run[rung](session))
    return tuple(results)


def delivered(results: list[RungResult]) -> dict[str, float]:
    """The scales that the call delivered in rung bind, empty when it was not run."""
    for done in results:
        if done.rung == "bind" and done.outcome == "pass":
            values = done.details["values"]
            return {name: value for name, value in values.items() if isinstance(value, float)}
    return {}


def overall(asked: Asked, results: tuple[RungResult, ...]) -> Outcome:
    """The gate's outcome; in `auto` a rung beyond this machine does not count, but bind must pass."""
    outcomes = [done.outcome for done in results]
    for bad in ("fail", "error"):
        if bad in outcomes:
            return bad
    needed = results[0].outcome if asked == "auto" else outcomes[-1]
    return "pass" if needed == "pass" else "skip"


def reached(results: tuple[RungResult, ...]) -> Rung | None:
    """The highest rung that passed."""
    passed = [done.rung for done in results if done.outcome == "pass"]
    return passed[-1] if passed else None


def sm100_numerics(results: tuple[RungResult, ...]) -> Literal["not run", "pass", "fail"]:
    """Whether the kernel ran on the architecture it is for, and agreed with the reference."""
    for done in results:
        if (
            done.rung == "kernel"
            and done.details.get("verdict") == "ran"
            and done.details["capability"][0] == 10
        ):
            return "pass" if done.outcome == "pass" else "fail"
    return "not run"


def summary(record: SmokeRecord) -> str:
    """One line: every rung's outcome, how far it got, and the numerics that only SM100 can show."""
    rungs = ", ".join(f"{done.rung} {done.outcome}" for done in record.rungs)
    return f"{rungs}; reached {record.reached or 'none'}; SM100 numerics: {record.sm100_numerics}"


def make_record(
    session: Session, patch: Patch | None, asked: Asked, results: tuple[RungResult, ...], seconds: float
) -> SmokeRecord:
    """The record of a finished climb."""
    tree = session.tree
    paths = [diff.path for diff in patch.diffs] if patch else [CALL_SITE]
    contents = {path: tree.read(path) for path in paths}
    gpu = {key: value for key, value in (session.gpu or {}).items() if key != "free_gib"}
    pin = find_pin(read_pins(tree), "deep_gemm")
    library = next((done.details["library"] for done in results if done.details.get("library")), None) or {}
    versions = dict(session.probe.get("versions", {}))
    versions |= {
        "cuda": gpu.pop("cuda", None), "driver": gpu.pop("driver", None), "nvcc": nvcc_version(),
        "deep_gemm_library": library.get("version"), "deep_gemm_commit": pin.spec if pin else None,
    }  # fmt: skip
    return SmokeRecord(
        at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        tree=f"{tree.package} {tree.version}" if tree.version else tree.disk_root().name,
        tree_kind=tree.kind,
        files={path: sha256(data) for path, data in contents.items() if data is not None},
        patch={"name": patch.name, "sha256": sha256(patch.raw)} if patch else None,
        versions=versions,
        gpu=scrub(gpu) or None,
        nproc=session.nproc,
        asked=asked,
        reached=reached(results),
        sm100_numerics=sm100_numerics(results),
        rungs=results,
        duration_s=round(seconds, 1),
    )
