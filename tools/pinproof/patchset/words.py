"""One call in words: what it does, and what the library declares, told by the kind of drift."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from pinproof.contract.model import CallCheck, Drift
from pinproof.patchset.patchfile import Patch

_KEYWORD = re.compile(rb"\s*([A-Za-z_]\w*)\s*=(?!=)")
# More names than this, and nobody sees the one that matters.
MOST_NAMES = 6


class Names(msgspec.Struct, frozen=True):
    """The keyword names on a patch's changed and untouched lines: the first are what it is about."""

    changed: frozenset[str]
    untouched: frozenset[str]


def names_in(patch: Patch) -> Names:
    """The keyword names on the lines of a patch's hunks."""
    lines = [line for diff in patch.diffs for hunk in diff.hunks for line in hunk.lines]
    changed, untouched = (
        _keywords(line[1:] for line in lines if line[:1] in signs) for signs in (b"+-", b" ")
    )
    return Names(changed, untouched)


def _keywords(lines: Iterable[bytes]) -> frozenset[str]:
    return frozenset(match[1].decode() for line in lines if (match := _KEYWORD.match(line)))


def passes(call: CallCheck, names: Names) -> tuple[str, ...]:
    """The keywords of a call that decide: not those that the patch's hunk shows as untouched."""
    wrong = {name for drift in call.drifts if drift.kind == "unexpected-keyword" for name in drift.names}
    if wrong and not names.changed & set(call.keywords):
        return tuple(name for name in call.keywords if name in wrong)
    return tuple(name for name in call.keywords if name not in names.untouched)


def declares(call: CallCheck, names: Names) -> tuple[str, ...]:
    """The parameters that decide: those the patch names, the call passes or reads most like."""
    if call.signature is None:
        return ()
    near = {name for drift in call.drifts for name in drift.nearest}
    wanted = names.changed | set(call.keywords) | near
    declared = (parameter.name for parameter in call.signature.parameters)
    return tuple(name for name in declared if name in wanted and name not in names.untouched)


def source(call: CallCheck, sources: Mapping[str, str]) -> str | None:
    """`LIBRARY VERSION`, where in it the signature stands, and how it was come by."""
    if call.signature is None:
        return None
    place = call.signature.place
    line = f":{place.line}" if place.line else ""
    return f"{place.source}, {place.file}{line}, {sources.get(call.library, 'given')}"


def reading(call: CallCheck, names: Names, sources: Mapping[str, str]) -> str:
    """`FILE:LINE passes A, B; LIBRARY VERSION declares C, D (where)`, or as the kind of drift has it."""
    at = f"{call.file}:{call.line}"
    label, _, where = (source(call, sources) or call.library).partition(", ")
    told = f" ({where})" if where else f" ({sources[call.library]})" if call.library in sources else ""
    others = [drift for drift in call.drifts if drift.kind != "unexpected-keyword" or drift.twice]
    if others and len(others) == len(call.drifts):
        return f"{at} {'; '.join(_clause(call, drift, label) for drift in others)}{told}"
    also = "".join(f"; it also {_clause(call, drift, label)}" for drift in others)
    near = {name for drift in call.drifts for name in (*drift.names, *drift.nearest)}
    passed = few(passes(call, names), names.changed | near) or "none of the patch's names"
    if call.signature is None:
        return f"{at} passes {passed}{also}"
    declared = few(declares(call, names), names.changed | near) or "none of these names"
    return f"{at} passes {passed}; {label} declares {declared}{told}{also}"


def _clause(call: CallCheck, drift: Drift, label: str) -> str:
    named = ", ".join(drift.names)
    if drift.twice:
        return f"passes {named} twice, by position and by keyword"
    return {
        "missing-required": f"leaves out {named}, which {label} requires",
        "too-many-positional": f"passes too many arguments by position to {call.callee}: {named} by {label}",
        "missing-attribute": f"uses {call.callee}, which {label} does not have",
        "missing-module": f"imports {call.callee}, which {label} does not have",
    }.get(drift.kind, f"breaks {call.callee} of {label}: {drift.kind} {named}")


def few(names: Iterable[str], first: Iterable[str] = ()) -> str:
    """A list of names cut to a few: those of `first` before all others, in their own order."""
    listed = list(names)
    if len(listed) <= MOST_NAMES:
        return ", ".join(listed)
    wanted = set(first)
    chosen = sorted(listed, key=lambda name: name not in wanted)[:MOST_NAMES]
    return f"{', '.join(name for name in listed if name in chosen)} and {len(listed) - MOST_NAMES} more"
