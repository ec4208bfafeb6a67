"""What a history says: its rows, the state of every cell, and what changed from release to release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pinproof.history.model import Caller, Column, History, State


def rows(columns: Iterable[Column]) -> tuple[str, ...]:
    """Every name declared or passed, each placed after the name it first followed; strays last."""
    order: list[str] = []
    seen = list(columns)
    for column in seen:
        at = 0
        for name in column.names:
            if name not in order:
                order.insert(at, name)
            at = order.index(name) + 1
    passed = (name for column in seen for caller in column.callers for name in caller.keywords)
    return tuple(dict.fromkeys((*order, *passed)))


def state(column: Column, name: str) -> State:
    """What a name is in one release: see model.State."""
    if any(name in caller.unexpected and caller.breaks for caller in column.callers):
        return "breaks"
    if any(name in caller.left_out and caller.breaks for caller in column.callers):
        return "left-out"
    if any(name in (*caller.unexpected, *caller.left_out) for caller in column.callers):
        return "guarded"
    parameter = next((p for p in column.parameters or () if p.name == name), None)
    passed = any(name in caller.keywords for caller in column.callers)
    if parameter is None:
        return "conditional" if passed and column.parameters is not None else "none"
    if passed:
        return "passed"
    optional = parameter.default or parameter.kind.startswith("var-")
    return "declared" if optional else "required"


def said(column: Column, name: str) -> str:
    """A cell in words, for a table that is read aloud."""
    passing = sum(name in caller.keywords for caller in column.callers)
    of = f"{passing} of {len(column.callers)} calls"
    words: dict[State, str] = {
        "none": "not declared",
        "declared": "declared, has a default",
        "required": "declared, required, given by position",
        "passed": f"declared, passed by {of}",
        "conditional": f"not declared, passed by {of} only where another function is called",
        "guarded": f"not declared, passed by {of} behind a guard",
        "left-out": "declared, required, left out by a call: breaks",
        "breaks": f"not declared, passed by {of}: breaks",
    }
    return words[state(column, name)]


def outcome(column: Column) -> str:
    """One column in a few words: how its calls stand."""
    if not column.read:
        return "not read"
    count, broken = len(column.callers), len(column.broken)
    undecided = sum(caller.open is not None for caller in column.callers)
    if broken:
        return f"{broken} of {count} break" if count > 1 else "the call breaks"
    if column.missing and not count:
        return "not declared" if column.library else "not available"
    if not count:
        return "no call"
    held = f"{count} call{'s' if count > 1 else ''}"
    return (
        f"{held}, {undecided} undecided" if undecided else f"{held}, hold" if count > 1 else "1 call, holds"
    )


def changes(history: History) -> Iterator[str]:
    """What happened, oldest first: a line where the signature changed, a line for every call that breaks."""
    before: Column | None = None
    for column in history.columns:
        if before is not None and column.parameters is not None and before.parameters is not None:
            line = _change(before, column)
            if line:
                yield f"{before.label} → {column.label}: {line}"
        elif before is not None and (column.parameters is None) != (before.parameters is None):
            yield f"{before.label} → {column.label}: {_appeared(column)}"
        yield from (f"{column.label}: {_broken(caller, column)}" for caller in column.broken)
        before = column


def _appeared(column: Column) -> str:
    return "appears" if column.parameters is not None else f"gone ({column.missing})"


def _change(before: Column, after: Column) -> str:
    old = {p.name: p for p in before.parameters or ()}
    new = {p.name: p for p in after.parameters or ()}
    parts = [
        _listed("drops", [name for name in old if name not in new]),
        _listed("adds", [name for name in new if name not in old]),
        _listed("changes", [name for name in new if name in old and new[name] != old[name]]),
    ]
    if not any(parts) and before.names != after.names:
        parts = ["the order of the parameters changes"]
    return "; ".join(part for part in parts if part)


def _listed(verb: str, names: Sequence[str]) -> str:
    return f"{verb} {', '.join(names)}" if names else ""


def _broken(caller: Caller, column: Column) -> str:
    what = [
        f"passes {', '.join(caller.unexpected)}, not declared" if caller.unexpected else "",
        f"leaves out {', '.join(caller.left_out)}" if caller.left_out else "",
        caller.other or "",
    ]
    library = f" by {column.library[:12]}" if column.library and caller.unexpected else ""
    return f"{caller.file}:{caller.line} breaks: {'; '.join(part for part in what if part)}{library}"
