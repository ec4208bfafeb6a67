"""A patch that names no probe: not run, with what would prove it."""

from __future__ import annotations

from pinproof.errors import Refused
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.smoke import registry
from pinproof.smoke.exercise import changed_statements, exercised_by
from pinproof.smoke.record import Statement
from pinproof.tree import Tree


def without_probe(patch: Patch, tree: Tree) -> GateResult:
    """The result for a patch without a `Probe:` field; nothing is run.

    Args:
        patch: the patch.
        tree: the tree it is for.

    Returns:
        not-run; `reason` names the calls that the patch changes and the probe that exercises them, if there
        is one, `clear` what to do.
    """
    try:
        changed = changed_statements(tree, patch)
    except Refused as error:
        return _not_run(patch, error.message, error.hint)
    fitting = [name for name in registry.names() if exercised_by(registry.load(name), changed)]
    if fitting:
        reason = f"{patch.name} names no probe; {fitting[0]} exercises {changed[0]}"
        return _not_run(patch, reason, f"put `Probe: {fitting[0]}` into its header")
    calls = [part for part in changed if part.calls]
    if not calls:
        return _not_run(patch, f"{patch.name} changes no call: no run of this gate would prove it", None)
    return _not_run(patch, f"{patch.name} names no probe, and none exercises {_named(calls)}",
                    "write one for these calls: docs/probes.md")  # fmt: skip


def _named(calls: list[Statement]) -> str:
    more = f" and {len(calls) - 3} more" if len(calls) > 3 else ""
    return "; ".join(map(str, calls[:3])) + more


def _not_run(patch: Patch, reason: str, clear: str | None) -> GateResult:
    return GateResult(
        gate="smoke", outcome="not-run", summary=f"not run: {reason}", reason=reason, clear=clear
    )
