"""The smoke gate: climb the rungs of a probe as far as the machine allows, and say how far that was."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from pinproof.errors import Conflict
from pinproof.gate import GateResult, Outcome
from pinproof.patchset.change import contents_after, text_state
from pinproof.patchset.patchfile import Patch
from pinproof.smoke import exercise
from pinproof.smoke.probe import Probe, RungRunner
from pinproof.smoke.record import RUNGS, Numerics, Rung, RungResult, SmokeRecord, Statement
from pinproof.smoke.recorded import make_record
from pinproof.smoke.session import Session, open_session
from pinproof.tree import Tree

Asked = Literal["auto", "bind", "compile", "kernel", "model"]

COMMON: Mapping[Rung, RungRunner] = {}
"""Rungs that need no probe, below bind: they are run for every patch."""

UNEXERCISED = "the run went through no statement that the patch changes"


@dataclass(frozen=True)
class Subject:
    """What is smoked: a tree, the probe that runs it, and the patch it is run for.

    Attributes:
        tree: the tree as it is.
        probe: the probe.
        patch: the patch to prove, None for the tree alone.
        changed: the patch's statements that the probe exercises; empty without a patch.
    """

    tree: Tree
    probe: Probe
    patch: Patch | None = None
    changed: tuple[Statement, ...] = ()


def subject_of(tree: Tree, probe: Probe, patch: Patch | None = None) -> Subject:
    """Bring a tree, a probe and a patch together.

    Raises:
        Refused: the probe exercises nothing that the patch changes, or the patch does not go with the tree.
    """
    if patch is None:
        return Subject(tree, probe)
    changed = exercise.changed_statements(tree, patch)
    exercise.refuse_unrelated(probe, patch, changed)
    return Subject(tree, probe, patch, tuple(exercise.exercised_by(probe, changed)))


def smoke_gate(
    subject: Subject, python: str, rung: Asked = "auto", *, nproc: int = 1, limit_s: float | None = None
) -> GateResult:
    """Run a probe's rungs on a tree as it is.

    Args:
        subject: the tree, the probe and the patch. The patch's files are hashed into the record, and
            rung model also runs the tree with the patch the other way round. The tree is never changed.
        python: the interpreter that has torch and vLLM, or at least what vLLM imports.
        rung: one rung, or `auto` for all that this machine allows, lowest first, up to a failure.
        nproc: GPUs for the kernel and model rungs.
        limit_s: how long one child process may run; None for each rung's own limit.

    Returns:
        pass when the rung asked for passed (`auto`: every rung that could be run) and, with a patch, a
        statement was run that the patch changes; skip when that was not available here. `details` is a
        SmokeRecord.

    Raises:
        Refused: another smoke run is at work on this tree.
        CannotCheck: the interpreter cannot be started.
        InputError: the probe has no such rung.
    """
    started = time.monotonic()
    tree, patch = subject.tree, subject.patch
    with open_session(tree, python, nproc=nproc, twin=twin_of(tree, patch), limit_s=limit_s) as session:
        session.watch = exercise.watch_list(subject.changed)
        session.imports = subject.probe.imports
        results = climb(session, subject.probe, rung)
    exercised = exercise.were_run(subject.changed, session.lines)
    record = make_record(
        session, subject.probe, patch, asked=rung, results=results, exercised=exercised,
        reached=reached(results), numerics=numerics(subject.probe, results),
        seconds=time.monotonic() - started,
    )  # fmt: skip
    outcome = overall(rung, results)
    if outcome == "pass" and patch is not None and not exercised:
        return _gate(record, "skip", UNEXERCISED, _how_to_exercise(results))
    unmet = next((r for r in results if r.outcome != "pass"), None) if outcome != "pass" else None
    if unmet is None:
        return _gate(record, outcome, None, None)
    return _gate(record, outcome, unmet.reason or unmet.summary, unmet.clear)


def _gate(record: SmokeRecord, outcome: Outcome, reason: str | None, clear: str | None) -> GateResult:
    return GateResult(
        gate="smoke", outcome=outcome, summary=summary(record), reason=reason, clear=clear,
        duration_s=record.duration_s, details=msgspec.to_builtins(record),
    )  # fmt: skip


def _how_to_exercise(results: tuple[RungResult, ...]) -> str:
    if any(done.rung == "bind" for done in results):
        return "another probe, or a change of this one: docs/probes.md"
    return "--rung auto: rung bind runs the call itself"


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


def climb(session: Session, probe: Probe, asked: Asked) -> tuple[RungResult, ...]:
    """Run the rungs asked for; `auto` stops at the first that fails or breaks."""
    run = {**COMMON, **probe.rungs}
    results: list[RungResult] = []
    for rung in [name for name in RUNGS if name in run] if asked == "auto" else [asked]:
        if rung not in run:
            reason = f"probe {probe.name} has no rung {rung}"
            results.append(RungResult(rung=rung, outcome="not-run", summary=reason, reason=reason))
        elif any(done.outcome in ("fail", "error") for done in results):
            reason = f"{results[-1].rung} did not pass"
            results.append(RungResult(rung=rung, outcome="not-run", summary=reason, reason=reason))
        else:
            results.append(run[rung](session, tuple(results)))
    return tuple(results)


def overall(asked: Asked, results: tuple[RungResult, ...]) -> Outcome:
    """The gate's outcome; in `auto` a rung beyond this machine does not count, but bind must pass."""
    outcomes = [done.outcome for done in results]
    for bad in ("fail", "error"):
        if bad in outcomes:
            return bad
    needed = "bind" if asked == "auto" else asked
    passed = any(done.rung == needed and done.outcome == "pass" for done in results)
    return "pass" if passed else "skip"


def reached(results: tuple[RungResult, ...]) -> Rung | None:
    """The highest rung that passed."""
    passed = [done.rung for done in results if done.outcome == "pass"]
    return passed[-1] if passed else None


def numerics(probe: Probe, results: tuple[RungResult, ...]) -> Numerics:
    """Whether the kernel itself ran, on an architecture it is for, and agreed with the reference."""
    for done in results:
        if done.rung != "kernel" or done.details.get("verdict") != "ran":
            continue
        if probe.numerics_on in (None, done.details["capability"][0]):
            return "pass" if done.outcome == "pass" else "fail"
    return "not run"


def summary(record: SmokeRecord) -> str:
    """One line: every rung's outcome, how far it got, and whether the kernel's numbers were compared."""
    rungs = ", ".join(f"{done.rung} {done.outcome}" for done in record.rungs)
    where = "numerics" if record.sm100_numerics is None else "SM100 numerics"
    return f"{rungs}; reached {record.reached or 'none'}; {where}: {record.numerics}"
