"""The table of a bump: what a newer engine breaks in a plugin, what changed upstream, what to adapt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from pinproof.contract.model import CallCheck, Drift, Report, Signature
from pinproof.contract.output.findings import CODES, message
from pinproof.errors import PinproofError
from pinproof.git import git
from pinproof.releases import release_tree, versions_between
from pinproof.seams.bodies import header
from pinproof.seams.code import Code, Found, FunctionNode, World
from pinproof.seams.model import Seam


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One place of the plugin that a bump breaks, or that a person has to read again.

    Attributes:
        file, line, code: where, and what kind of finding it is.
        name: what of the engine it is about.
        upstream: what changed there: the old and the new signature, or where the name moved.
        adapt: what to do.
        sure: how sure that is, and by what.
        since: the first release that is so.
        commit: the commit that did it, where a clone is given.
    """

    file: str
    line: int
    code: str
    name: str
    upstream: str
    adapt: str
    sure: str
    since: str | None = None
    commit: str | None = None


def rows(now: Report, then: Report, seams: Sequence[Seam], engine: Code) -> list[Row]:
    """The rows of a bump.

    Args:
        now: the gate's report with the engine at the pin.
        then: what fails with the other version and does not at the pin.
        seams: what `examine` found for the same step.
        engine: the engine's code at the other version.
    """
    before = {(c.file, c.line, c.col): c for c in now.calls if c.signature is not None}
    found = [row for call in then.failing for row in _of_call(call, before, engine)]
    found += [_of_seam(seam) for seam in seams if seam.guard is None and seam.level != "note"]
    return sorted(found, key=lambda row: (row.file, row.line, row.code))


def _of_call(call: CallCheck, before: dict[tuple[str, int, int], CallCheck], engine: Code) -> Iterator[Row]:
    old = before.get((call.file, call.line, call.col))
    for drift in call.drifts:
        moved = _moved_to(engine, call.callee) if drift.kind.startswith("missing-") else None
        sure = "always" if drift.when is None else f"when {drift.when}"
        yield Row(
            file=call.file, line=call.line, code=CODES[drift.kind], name=call.callee,
            upstream=_upstream(call, drift, old, moved), adapt=_adapt(drift, moved), sure=sure,
        )  # fmt: skip


def _upstream(call: CallCheck, drift: Drift, old: CallCheck | None, moved: str | None) -> str:
    if call.signature is None:
        return f"`{call.callee}` moved to `{moved}`" if moved else message(call, drift)
    now = _spelled(call.signature)
    was = _spelled(old.signature) if old is not None and old.signature is not None else None
    return f"`{was}` is now `{now}`" if was and was != now else f"`{now}`"


def _spelled(signature: Signature) -> str:
    marks = {"var-positional": "*", "var-keyword": "**"}
    parts = [marks.get(p.kind, "") + p.name + ("=..." if p.default else "") for p in signature.parameters]
    return f"{signature.name.rpartition('.')[2]}({', '.join(parts)})"


def _adapt(drift: Drift, moved: str | None) -> str:
    names = ", ".join(f"`{name.rpartition('.')[2]}`" for name in drift.names)
    if moved is not None:
        return f"take it from `{moved}`"
    if drift.kind == "unexpected-keyword":
        return (
            f"pass {', '.join(f'`{n}`' for n in drift.nearest)} instead of {names}"
            if drift.nearest
            else (f"do not pass {names}")
        )
    if drift.kind == "missing-required":
        return f"pass {names}"
    if drift.kind == "too-many-positional":
        return f"pass fewer arguments by position: {drift.names[0]}"
    near = f"; the nearest name is {', '.join(f'`{n}`' for n in drift.nearest)}" if drift.nearest else ""
    return f"do without {names}{near}"


def _moved_to(engine: Code, name: str) -> str | None:
    """The one module that defines the last part of a name at its top; None when there are none or several."""
    last = name.rpartition(".")[2]
    pattern = re.compile(rb"^(?:class|def|async def) " + re.escape(last.encode()) + rb"\b", re.M)
    found = [m for m in engine.mentioning(last.encode()) if pattern.search(engine.data(m))]
    return f"{found[0]}.{last}" if len(found) == 1 else None


_TODO = {
    "KC301": "take it, and hand it on", "KC302": "give it a default, or compute it",
    "KC303": "take the argument", "KC304": "find what took over its work", "KC305": "implement it",
    "KC306": "call what the base class has now", "KC401": "patch what took over its work, or drop the patch",
    "KC402": "take what is passed", "KC403": "read the patch again", "KC404": "drop the patch",
    "KC406": "anchor the rewrite anew",
}  # fmt: skip


def _of_seam(seam: Seam) -> Row:
    what = seam.message
    if seam.before and seam.after and seam.code in ("KC301", "KC302", "KC303"):
        what += f" (`{seam.before}` hides `{seam.after}`)"
    proof = (
        f"called at {seam.evidence[0].split(': ')[0]}"
        if seam.code in ("KC301", "KC302", "KC303")
        else "always"
    )
    return Row(
        file=seam.file, line=seam.line, code=seam.code, name=seam.name, upstream=what,
        adapt=_TODO.get(seam.code, "read it again"), sure="to be read" if seam.level == "review" else proof,
    )  # fmt: skip


# -- which release did it --------------------------------------------------------------------------------


def dated(found: Sequence[Row], engine: str, first: str, last: str) -> list[Row]:
    """The rows with the first release in which what they are about is as it is in the last."""
    try:
        between = [v for v in versions_between(engine, first, last) if v != first]
    except PinproofError:
        return list(found)
    if len(between) == 1:
        return [msgspec.structs.replace(row, since=between[0]) for row in found]
    worlds = [_world(engine, version) for version in (*between,)]
    return [msgspec.structs.replace(row, since=_since(row, between, worlds)) for row in found]


def _world(engine: str, version: str) -> World:
    code = Code(release_tree(engine, version), (engine,), f"{engine} {version}", prefetch=False)
    return World(code, code)


def _since(row: Row, between: Sequence[str], worlds: Sequence[World]) -> str | None:
    states = [_state(world.find(row.name)) for world in worlds]
    at = len(states) - 1
    while at > 0 and states[at - 1] == states[-1]:
        at -= 1
    return between[at]


def _state(found: Found) -> tuple[str, str | None]:
    return found.kind, header(found.node) if isinstance(found.node, FunctionNode) else None


# -- which commit did it ---------------------------------------------------------------------------------


def with_commits(found: Sequence[Row], clone: Path, first: str, last: str) -> list[Row]:
    """The rows with the newest commit between two tags that added or removed the name they are about."""
    return [msgspec.structs.replace(row, commit=_commit(row, clone, first, last)) for row in found]


def _commit(row: Row, clone: Path, first: str, last: str) -> str | None:
    word = row.name.rpartition(".")[2]
    if not word.isidentifier():
        return None
    wanted = ["log", "-1", "--format=%h %s", f"-S{word}", f"v{first}..v{last}", "--", "*.py"]
    try:
        return git(wanted, cwd=clone).stdout.decode(errors="replace").strip() or None
    except PinproofError:
        return None


# -- Markdown --------------------------------------------------------------------------------------------


def markdown(found: Sequence[Row], plugin: str, engine: str, first: str, last: str) -> str:
    """The table, as it goes into a pull request."""
    head = f"## {plugin}: {engine} {first} to {last}\n\n"
    if not found:
        return head + "Nothing that was looked at breaks.\n"
    commits = any(row.commit for row in found)
    columns = ["Where", "Code", "What changed upstream", "What to adapt", "How sure", "Since"]
    columns += ["Commit"] if commits else []
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in found:
        cells = [f"`{row.file}:{row.line}`", row.code, row.upstream, row.adapt, row.sure, row.since or ""]
        cells += [row.commit or ""] if commits else []
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    broken = sum(row.sure != "to be read" for row in found)
    return head + f"{broken} places break, {len(found) - broken} to read again.\n\n" + "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
