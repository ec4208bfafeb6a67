"""The `Contract:` fields of a patch: which calls it is about, and what is true of them once it is in."""

from __future__ import annotations

import re
from typing import get_args

import msgspec

from pinproof.contract.model import CallCheck, DriftKind
from pinproof.errors import InputError
from pinproof.patchset.patchfile import Patch
from pinproof.tree import check_relative

KINDS: tuple[DriftKind, ...] = get_args(DriftKind)
_RENAMED: tuple[DriftKind, ...] = ("missing-attribute", "missing-module")
_CONTRACT = re.compile(rf"(\S+) ([\w.]+)(?: ({'|'.join(KINDS)}))?(?: ([\w.]+(?:,[\w.]+)*))?")
_NONE = re.compile(r"none, (\S.{7,})")
FORM = "FILE CALLEE [KIND] name,name` or `none, REASON"


class Contract(msgspec.Struct, frozen=True):
    """One `Contract:` field: what the patch fixes about the calls of `callee` in `file`.

    `kind` says how a call fails without the patch; `names` are what it passes with it: the keywords
    (unexpected-keyword), the parameters that were left out (missing-required); for a name or module that
    the library does not have, the one that was used instead of `callee` before.
    """

    file: str
    callee: str
    kind: DriftKind
    names: tuple[str, ...]

    @property
    def callees(self) -> tuple[str, ...]:
        """What is called with the patch, and what was called without it where that differs."""
        return (self.callee, *self.names) if self.kind in _RENAMED else (self.callee,)

    def kept_by(self, call: CallCheck) -> bool:
        """Whether a call does what the field states."""
        if call.callee != self.callee or call.open is not None or call.drifts:
            return False
        return self.kind != "unexpected-keyword" or set(self.names) <= set(call.keywords)

    def text(self) -> str:
        """The field's value."""
        kind = "" if self.kind == "unexpected-keyword" else f" {self.kind}"
        return f"{self.file} {self.callee}{kind} {','.join(self.names)}".rstrip()


def contracts_of(patch: Patch) -> tuple[Contract, ...]:
    """The patch's `Contract:` fields, parsed; empty when it has none or says `none, REASON`.

    Raises:
        InputError: one is malformed.
    """
    values = patch.fields.get("Contract", [])
    if no_contract(patch) is not None:
        if len(values) > 1:
            raise InputError(f"{patch.name}: Contract: says none and states one too")
        return ()
    return tuple(_parse(patch, value) for value in values)


def no_contract(patch: Patch) -> str | None:
    """The reason in `Contract: none, REASON`; None when the patch does not say so."""
    found = (_NONE.fullmatch(value) for value in patch.fields.get("Contract", []))
    return next((match[1] for match in found if match), None)


def _parse(patch: Patch, value: str) -> Contract:
    match = _CONTRACT.fullmatch(value)
    if match is None or not (match[3] or match[4]):
        raise InputError(
            f"{patch.name}: Contract: {value!r} is not `{FORM}`", hint=f"kinds: {', '.join(KINDS)}"
        )
    kind: DriftKind = match[3] or "unexpected-keyword"  # type: ignore[assignment]
    names = tuple(match[4].split(",")) if match[4] else ()
    if kind in (*_RENAMED, "unexpected-keyword", "missing-required") and not names:
        wanted = "what was used before" if kind in _RENAMED else "the names"
        raise InputError(f"{patch.name}: Contract: {value!r} does not say {wanted}")
    return Contract(check_relative(match[1]), match[2], kind, names)
