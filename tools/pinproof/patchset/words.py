"""One call in words: what it does, and what the library declares, told by the kind of drift."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from pinproof.contract.model import CallCheck, Drift
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.seen import Seen

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


def reading(call: CallCheck, names: Names, seen: Seen) -> str:
    """`FILE:LINE passes A, B; LIBRARY VERSION declares C, D (where)`, or as the kind of drift has it."""
    at = f"{call.file}:{call.line}"
    label, _, where = (source(call, seen.sources) or "").partition(", ")
    label = label or seen.labels.get(call.library, call.library)
    told = f" ({where or seen.sources[call.library]})" if where or call.library in seen.sources else ""
    others = [drift for drift in call.drifts if drift.kind != "unexpected-keyword" or drift.twice]
    if others and len(others) == len(call.drifts):
        return f"{at} {'; '.join(_clause(call, drift, label) for drift in others)}{told}"
    if call.open is not None:
        return f"{at} could not be decided: {call.open}"
    passed, declared = passes(call, names), declares(call, names)
    first = names.changed | {name for drift in call.drifts for name in (*drift.names, *drift.nearest)}
    if not call.drifts and len(declared) <= MOST_NAMES:
        first |= set(declared)
    if not call.drifts and (call.signature is None or not _tells(passed, first)):
        return f"{at} uses {call.callee} as {label} declares it{told}"
    also = "".join(f"; it also {_clause(call, drift, label)}" for drift in others)
    shown = few(declared, first) if _tells(declared, first) else "none of these names"
    return f"{at} passes {few(passed, first)}; {label} declares {shown}{told}{also}"


def _tells(listed: Collection[str], first: Collection[str]) -> bool:
    """Whether a list of names says something: a long one only by the names that are looked for."""
    return bool(listed) and (len(listed) <= MOST_NAMES or not set(listed).isdisjoint(first))


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


def few(names: Sequence[str], first: Collection[str] = ()) -> str:
    """A list of names; of a long one only those that are in `first`, and how many more there are."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    shown = [name for name in names if name in first][:MOST_NAMES] or list(names[:MOST_NAMES])
    return f"{', '.join(shown)} and {len(names) - len(shown)} more"
