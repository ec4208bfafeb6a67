"""The witness rung of the contract gate: a patch's calls as programs that die before and run after."""

from __future__ import annotations

from typing import Literal

import msgspec

from pinproof.contract.model import CallCheck
from pinproof.contract.output import witness
from pinproof.contract.output.witness import Witnessed
from pinproof.patchset.verdict import Verdict
from pinproof.tree import Tree


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """The rung's result; `before` raised the very errors that were found, `after` ended with none."""

    outcome: Literal["pass", "fail", "skip"]
    summary: str
    before: tuple[Witnessed, ...] = ()
    after: tuple[Witnessed, ...] = ()


def witness_rung(before: Verdict, after: Verdict, without: Tree, with_patch: Tree) -> Witness:
    """Run the witness of each failing call without the patch, and of its calls with it.

    Args:
        before, after: the verdicts without and with the patch.
        without, with_patch: the trees they are about.

    Returns:
        A skip, with its reason, where a call has no witness (a missing name or module, a call that
        reaches the library through functions of the tree).
    """
    broken = [call for call in before.calls if call.failing]
    if not broken:
        return Witness(outcome="skip", summary="no call fails without the patch")
    died: list[Witnessed] = []
    for call in broken:
        made, what = witness.failing(call, without)
        if made is None:
            return Witness(outcome="skip", summary=what)
        died.append(made)
    lived = [made for call in after.calls if _bound(call) for made in [witness.run(call, with_patch)] if made]
    if not lived:
        return Witness(outcome="skip", summary="with the patch no call has a witness", before=tuple(died))
    still = [made for made in lived if made.error is not None]
    if still:
        return Witness(
            outcome="fail", before=tuple(died), after=tuple(lived),
            summary=f"with the patch {still[0].file}:{still[0].line} still ends with {still[0].error}",
        )  # fmt: skip
    summary = f"without the patch {died[0].error}; with it none (Python {died[0].python}, signature stub)"
    return Witness(outcome="pass", summary=summary, before=tuple(died), after=tuple(lived))


def _bound(call: CallCheck) -> bool:
    return call.open is None and call.signature is not None
