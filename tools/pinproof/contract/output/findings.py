"""Findings: drifts as they are shown, with a code, a stable id and what to do about them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from pinproof.contract.model import CallCheck, Drift, DriftKind, Signature

CODES: dict[DriftKind, str] = {
    "unexpected-keyword": "KC101",
    "missing-required": "KC102",
    "too-many-positional": "KC103",
    "result-count": "KC104",
    "abstract-method": "KC105",
    "missing-attribute": "KC201",
    "missing-module": "KC202",
}
TITLES: dict[DriftKind, str] = {
    "unexpected-keyword": "the call passes a keyword that the library does not declare",
    "missing-required": "the call leaves out a parameter that the library requires",
    "too-many-positional": "the call passes more positional arguments than the library takes",
    "result-count": "the call unpacks another number of values than the library returns",
    "abstract-method": "the class leaves out a method that the library declares abstract",
    "missing-attribute": "the library has no such name",
    "missing-module": "the library has no such module",
}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One drift at one place.

    `id` stays the same when lines move: it names the file, the callee, the kind and the offending names.
    """

    id: str
    code: str
    kind: DriftKind
    file: str
    line: int
    col: int
    callee: str
    library: str
    message: str
    declared: str | None
    nearest: tuple[str, ...]
    guard: str | None
    how: str
    confidence: str


def findings(calls: Iterable[CallCheck], *, guarded: bool = False) -> list[Finding]:
    """The findings of a report's calls, those behind a guard only on request."""
    return [f for call in calls if call.guard is None or guarded for f in _of_call(call)]


def _of_call(call: CallCheck) -> Iterator[Finding]:
    for drift in call.drifts:
        key = "\0".join((call.file, call.callee, drift.kind, *sorted(drift.names)))
        yield Finding(
            id=hashlib.sha256(key.encode(errors="replace")).hexdigest()[:10],
            code=CODES[drift.kind],
            kind=drift.kind,
            file=call.file,
            line=call.line,
            col=call.col,
            callee=call.callee,
            library=call.library,
            message=message(call, drift),
            declared=declared(call.signature),
            nearest=drift.nearest,
            guard=call.guard,
            how=call.how,
            confidence="when the condition holds" if drift.when is not None else "always",
        )


def message(call: CallCheck, drift: Drift) -> str:
    """What is wrong, in one line."""
    names = ", ".join(repr(name) for name in drift.names)
    if drift.twice:
        return f"{call.callee}() gets {names} twice, by position and by keyword"
    when = f" (passed when {drift.when})" if drift.when else ""
    texts: dict[DriftKind, str] = {
        "unexpected-keyword": f"{call.callee}() takes no keyword {names}{when}",
        "missing-required": f"{call.callee}() requires {names}",
        "too-many-positional": f"{call.callee}() takes fewer positional arguments: {drift.names[0]}",
        "result-count": f"{call.callee}() returns another number of values: {drift.names[0]}",
        "abstract-method": f"{call.callee} has abstract methods that are not implemented: {names}",
        "missing-attribute": f"{call.library} has no {call.callee}",
        "missing-module": f"{call.library} has no module {call.callee}",
    }
    return texts[drift.kind]


def declared(signature: Signature | None) -> str | None:
    """Where a signature is written: library and version, file and line."""
    if signature is None:
        return None
    line = f":{signature.place.line}" if signature.place.line else ""  # a binary's strings have no lines
    return f"{signature.place.source}, {signature.place.file}{line}"


def spelled(signature: Signature, *, lines: bool = False) -> str:
    """The signature as Python would show it, without defaults' values; with `lines` one parameter a line."""
    parts: list[str] = []
    kinds = [p.kind for p in signature.parameters]
    for index, parameter in enumerate(signature.parameters):
        if parameter.kind == "keyword-only" and "keyword-only" not in kinds[:index]:
            parts += [] if "var-positional" in kinds else ["*"]
        prefix = {"var-positional": "*", "var-keyword": "**"}.get(parameter.kind, "")
        parts.append(f"{prefix}{parameter.name}{'=...' if parameter.default else ''}")
        if parameter.kind == "positional-only" and kinds[index + 1 : index + 2] != ["positional-only"]:
            parts.append("/")
    if lines and parts:
        return f"{signature.name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"
    return f"{signature.name}({', '.join(parts)})"
