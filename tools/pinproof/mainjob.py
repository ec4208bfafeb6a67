"""The main job: from "is this patch needed here?" to "applied, compiled, the contract holds"."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence

import msgspec

from pinproof.contract.model import CallCheck
from pinproof.gate import GateResult
from pinproof.gates.compile import compile_gate
from pinproof.patchset.apply import Plan, carry_out, plan_apply, settle_tree
from pinproof.patchset.change import contents_after
from pinproof.patchset.journal import tree_lock
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.verdict import Verdict, judge
from pinproof.patchset.witnessing import witness_rung
from pinproof.tree import Tree


class MainJob(msgspec.Struct, frozen=True, kw_only=True):
    """What the main job did with one patch: the verdict before and after, the plan, two gates."""

    patch: str
    before: Verdict
    after: Verdict
    plan: Plan
    contract: GateResult
    compile: GateResult


def run_main_job(
    patch: Patch, tree: Tree, *, series: Sequence[Patch], libraries: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> MainJob:  # fmt: skip
    """Judge, apply, and prove one patch on one tree.

    Args:
        patch: the patch.
        tree: a tree on disk; it is changed when the patch is needed, unless `dry_run`.
        series: the whole set, to tell its changes from other people's.
        libraries: signature sources by library name.
        dry_run: prove on the would-be contents and write nothing.

    Raises:
        Refused: the verdict is against the patch, or the tree is dirty.
        Conflict: the contract is broken and the patch does not apply.
    """
    with contextlib.nullcontext() if dry_run else tree_lock(tree.disk_root()):
        if not dry_run:
            settle_tree(tree)
        plan = plan_apply([patch], tree, named=True, libraries=libraries)
        before = plan.steps[0].verdict
        assert before is not None  # only the steps of a revert have none
        if plan.contents and not dry_run:
            carry_out(plan, tree, series=series)
    patched = tree.with_changes(plan.contents) if dry_run else tree
    started = time.monotonic()
    after = judge(patch, patched, libraries)
    without = _without(patch, tree, libraries) if before.verdict == "applied" else before
    contract = contract_result(without, after, time.monotonic() - started)
    contract = _witnessed(contract, without, after, patch, patched)
    return MainJob(
        patch=patch.name, before=before, after=after, plan=plan, contract=contract,
        compile=compile_gate(patched, [diff.path for diff in patch.diffs if diff.kind != "delete"]),
    )  # fmt: skip


def _without(patch: Patch, tree: Tree, libraries: Mapping[str, str] | None) -> Verdict:
    """The verdict on the tree as it would be without the patch: what a patch that is in fixes."""
    return judge(patch, tree.with_changes(contents_after(tree, patch, reverse=True)), libraries)


def contract_result(before: Verdict, after: Verdict, duration_s: float) -> GateResult:
    """The contract gate's result for a patch: its calls fail without it, and with it each of them binds.

    Args:
        before: the verdict on the tree without the patch.
        after: the verdict with it.
        duration_s: how long it took, in seconds.

    Returns:
        A pass only for calls that were bound: no call, an open call, or a call that held before is a
        skip with its reason.
    """
    details = {"before": msgspec.to_builtins(before), "after": msgspec.to_builtins(after)}
    not_proved, clear = _not_proved(before, after)
    if not_proved is not None:
        return GateResult(gate="contract", outcome="skip", summary="not proved", reason=not_proved,
                          clear=clear, details=details, duration_s=duration_s)  # fmt: skip
    holds = after.verdict == "applied" and not any(call.failing for call in after.calls)
    changed = f"without it: {before.verdict}; " if before.verdict != after.verdict else ""
    return GateResult(
        gate="contract", outcome="pass" if holds else "fail", duration_s=duration_s,
        summary=f"{changed}{_reading(after.calls)}", details=details,
    )  # fmt: skip


def _witnessed(
    contract: GateResult, before: Verdict, after: Verdict, patch: Patch, patched: Tree
) -> GateResult:
    """The result with its witness rung; a witness that dies with the patch in fails the gate."""
    if contract.outcome != "pass":
        return contract
    without = patched.with_changes(contents_after(patched, patch, reverse=True))
    found = witness_rung(before, after, without, patched)
    details = {**contract.details, "witness": msgspec.to_builtins(found)}
    if found.outcome == "fail":
        return msgspec.structs.replace(
            contract, outcome="fail", summary=f"witness: {found.summary}", details=details
        )
    return msgspec.structs.replace(contract, details=details)


def _not_proved(before: Verdict, after: Verdict) -> tuple[str | None, str | None]:
    """Why nothing was proved, and what to do about it; None when there is a result."""
    if after.verdict == "unknown":
        clear = (
            "give the library with --library NAME=PATH" if after.missing else "state the patch's Contract:"
        )
        return after.sentence, clear
    if after.verdict != "applied":
        return None, None
    if after.basis == "text":
        return after.sentence, None
    undecided = [call for call in after.calls if call.open is not None]
    if undecided or not after.calls:
        call = undecided[0] if undecided else None
        why = (
            f"{call.file}:{call.line} could not be decided: {call.open}" if call else "no call was looked at"
        )
        return why, None
    if before.verdict not in ("needed", "unknown"):
        return f"the contract holds without the patch too ({before.verdict}): {before.sentence}", None
    return (before.sentence, None) if before.verdict == "unknown" else (None, None)


def _reading(calls: Sequence[CallCheck]) -> str:
    bound = sum(1 for call in calls if not call.drifts and call.open is None)
    return f"{bound} of {len(calls)} call{'s' * (len(calls) != 1)} of the patch bind to the pinned signature"
