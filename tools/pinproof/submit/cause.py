"""The root cause of a drift, read out of the contract gate's evidence."""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec

from pinproof.contract.model import CallCheck, Signature
from pinproof.contract.output.pyerror import python_error
from pinproof.contract.watch.watchlist import shipped
from pinproof.pins import Pin, find_pin, read_pins
from pinproof.submit.draft import Draft
from pinproof.tree import Tree


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One call that failed before the patch, the same call after it, and where the library's pin stands."""

    before: CallCheck
    after: CallCheck | None
    pin: Pin | None

    @property
    def signature(self) -> Signature | None:
        """What the pinned library declares."""
        return self.before.signature or (self.after.signature if self.after else None)

    def error(self) -> str:
        """What Python says when the call runs."""
        return python_error(self.before)


def causes(draft: Draft) -> list[Cause]:
    """Every call that the contract evidence shows failing before the patch; empty without such evidence."""
    made = draft.evidence.get("contract")
    if made is None:
        return []
    before = [call for call in _calls(made.details["before"]) if call.failing]
    after = _calls(made.details["after"])
    pins = read_pins(draft.base)
    known = {watched.name: watched.pinned_as for watched in shipped()}
    return [
        Cause(
            before=call,
            after=_same(call, after),
            pin=find_pin(pins, *known.get(call.library, (call.library,))),
        )
        for call in before
    ]


def earlier_signature(call: CallCheck, tree: Tree) -> Signature | None:
    """What a version of the library declares that takes the call as it stood; None where none is known.

    Looked for among the signature snapshots that come with pinproof.

    Args:
        call: the failing call.
        tree: the tree it stands in, without the patch.
    """
    from pinproof.contract.check import check_tree

    for version in _shipped_versions(call.library):
        report = check_tree(tree, callee=call.callee, files=[call.file], libraries={call.library: version})
        same = [found for found in report.calls if found.line == call.line]
        if same and same[0].signature is not None and not same[0].drifts:
            return same[0].signature
    return None


def _shipped_versions(library: str) -> list[str]:
    folder = resources.files("pinproof.contract.sources").joinpath("snapshots")
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    head = f"{library}-"
    return sorted(name[len(head) : -len(".json")] for name in names if name.startswith(head))


def _calls(verdict: dict[str, Any]) -> list[CallCheck]:
    return msgspec.convert(verdict["calls"], list[CallCheck])


def _same(call: CallCheck, others: list[CallCheck]) -> CallCheck | None:
    """The call that stands in the same place: same file, same callee where it has one, the nearest line."""
    here = [other for other in others if other.file == call.file]
    same = [other for other in here if other.callee == call.callee] or here
    return min(same, key=lambda other: abs(other.line - call.line), default=None)
