"""The blocks of a pull request's body, each written from evidence; a block with nothing to say is empty."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pinproof.contract.model import CallCheck, DriftKind
from pinproof.contract.output.findings import spelled
from pinproof.gate import GATES, GateName
from pinproof.markdown import code, codes, fence, folded, table, text
from pinproof.submit.cause import Cause, causes, earlier_signature
from pinproof.submit.draft import Draft
from pinproof.submit.gatetext import Row, limits, row
from pinproof.submit.policy import Block
from pinproof.submit.records import EvidenceRecord

_TAGS = re.compile(r"^(?:\[[^\]]*\])+ *")
_ORDER: tuple[GateName, ...] = tuple(gate for gate in GATES if gate != "duplicates")


def summary(draft: Draft) -> str:
    """Two lines: what the change does, and what happens without it."""
    what = text(_TAGS.sub("", draft.patch.subject))
    found = causes(draft)
    if not found:
        return f"{what}."
    why = f"Without it the call of {code(found[0].before.callee)} dies with {code(found[0].error())}."
    return f"{what}.\n{why}"


def root_cause(draft: Draft) -> str:
    """Where the call and the pinned signature part: pin, old and new keywords, source lines."""
    return "\n\n".join(_cause(cause, draft) for cause in causes(draft))


def _cause(cause: Cause, draft: Draft) -> str:
    call, signature = cause.before, cause.signature
    where = code(f"{call.file}:{call.line}")
    what, library_does = _parting(call)
    lines = [f"**Root cause.** {where} {what}."]
    if cause.pin is not None:
        pin = f"{cause.pin.spec} ({cause.pin.where})"
        lines.append(f"The tree pins {code(call.library)} at {code(pin)}, which {library_does}:")
    else:
        lines.append(f"The library {library_does}:")
    shown = f"{' '.join(lines)}\n\n{table(*_compared(cause, draft))}"
    if signature is not None:
        shown += "\n\n" + folded("The whole signature", fence(spelled(signature, lines=True), "python"))
    return shown


def _parting(call: CallCheck) -> tuple[str, str]:
    """What the call does, and what the library does instead, by the kind of its drift."""
    drift = call.drifts[0]
    names, callee = codes(drift.names), code(call.callee)
    if drift.twice:
        return f"passes {names} to {callee} twice, by position and by keyword", "takes each argument once"
    told: dict[DriftKind, tuple[str, str]] = {
        "unexpected-keyword": (f"passes {names} to {callee}", "does not take them"),
        "missing-required": (f"leaves out {names} in its call of {callee}", "requires it"),
        "too-many-positional": (f"passes {drift.given} arguments by position to {callee}", "takes fewer"),
        "missing-attribute": (f"uses {callee}", "does not have it"),
        "missing-module": (f"imports {callee}", "does not have it"),
    }
    return told.get(drift.kind, (f"breaks {callee} ({text(drift.kind)}: {names})", "declares it otherwise"))


def _compared(cause: Cause, draft: Draft) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table below the root cause: names that decide, or what is used before and after."""
    call, after = cause.before, cause.after
    if call.drifts[0].kind in ("missing-attribute", "missing-module"):
        used = [("before", code(call.callee), code(f"{call.file}:{call.line}"))]
        if after is not None:
            used.append(("after", code(after.callee), code(f"{after.file}:{after.line}")))
        return ("", "what is used", "where"), [tuple(row) for row in used]
    rows = [("call before", _deciding(cause, call.keywords), code(f"{call.file}:{call.line}"))]
    signatures = (("a version that takes it", earlier_signature(call, draft.base)),
                  ("pinned signature", cause.signature))  # fmt: skip
    for name, declares in signatures:
        if declares is not None:
            place = declares.place
            where = code(f"{place.source.split(' (')[0]}, {place.file}:{place.line}")
            rows.append((name, _deciding(cause, declares.names), where))
    if after is not None:
        rows.append(("call after", _deciding(cause, after.keywords), code(f"{after.file}:{after.line}")))
    return ("", "keywords that decide", "where"), [tuple(row) for row in rows]


def _deciding(cause: Cause, names: tuple[str, ...]) -> str:
    """The names that only one of old and new call pass, and those that the library misses."""
    old, new = set(cause.before.keywords), set(cause.after.keywords if cause.after else ())
    missed = {
        name for drift in cause.before.drifts if drift.kind == "missing-required" for name in drift.names
    }
    return codes([name for name in names if name in (old ^ new) | missed])


def claims(draft: Draft) -> str:
    """One bullet a claim, each with what it rests on."""
    return "\n".join(f"- {text(item.claim)}" for gate in _ORDER if (item := _row(draft, gate)) and item.claim)


def results(draft: Draft) -> str:
    """Every gate before and after the change; what was skipped is in the table as skipped."""
    rows = [item for gate in GATES if (item := _row(draft, gate))]
    return table(
        ("check", "configuration", "before", "after"),
        [(item.name, *map(_said, (item.config, item.before, item.after))) for item in rows],
    )


def _said(raw: str) -> str:
    return raw if raw == "-" else text(raw)


def commands(draft: Draft) -> str:
    """The commands that repeat each gate."""
    lines = [command for gate in _ORDER if (item := _row(draft, gate)) for command in item.commands]
    return fence("\n".join(lines), "bash") if lines else ""


def _row(draft: Draft, gate: GateName) -> Row | None:
    if gate in draft.evidence:
        return row(draft.evidence[gate])
    if gate in draft.skips:
        return Row(name=gate, config="-", before="-", after=f"skipped: {draft.skips[gate].reason}")
    return None


def not_proved(draft: Draft) -> str:
    """What no gate could show here, and why: skipped gates, and the limits that a record states itself."""
    lines = [f"- {text(line)}" for line in _unproved(draft)]
    return "\n".join(["Not proved here:", "", *lines]) if lines else ""


def _unproved(draft: Draft) -> Iterator[str]:
    for gate in GATES:
        if gate in draft.evidence:
            yield from limits(draft.evidence[gate])
        elif gate in draft.skips:
            skip = draft.skips[gate]
            yield f"{gate}: {skip.reason} (left out by {skip.person.name})"


def duplicates(draft: Draft) -> str:
    """The duplicate-work paragraph of the duplicates gate."""
    made = draft.evidence.get("duplicates")
    if made is None:
        return ""
    from pinproof.duplicates.report import markdown_paragraph

    # That paragraph breaks mentions and links with empty comments; upstream's bot may cut comments out
    # of a body, which would join them again.
    return (
        markdown_paragraph(made.details).strip().replace("@<!-- -->", "`@`").replace(":<!-- -->//", "`://`")
    )


def assistance(draft: Draft) -> str:
    """What the person answered about AI, and that they read every line."""
    review = draft.review
    count = len(review.hunks)
    used = f"AI assistance was used ({codes(review.assistance.assistants)})."
    said = used if review.assistance.used else "No AI assistance was used."
    read = f"read every changed line ({count} hunk{'s' * (count != 1)}) on {review.date[:10]}"
    return f"{said} {text(review.person.name)} {read} and answers for it."


def logs(draft: Draft) -> str:
    """The records, folded: when, on what, how long, and the seal by which each can be found again."""
    rows = [
        (gate, code(made.date), code(_tree(draft, gate)), f"{made.duration_s:.1f} s", code(made.seal[:12]))
        for gate, made in draft.evidence.items()
    ]
    parts = [table(("check", "date", "tree", "took", "record"), rows)] if rows else []
    if "pre-commit" in draft.evidence:
        parts.append(_hooks(draft.evidence["pre-commit"]))
    if "smoke" in draft.evidence:
        parts.append(_rungs(draft.evidence["smoke"]))
    for made in draft.evidence.values():
        for log in made.logs:
            parts.append(f"{made.gate} {code(log.at)}, SHA-256 {code(log.sha256[:16])}, {log.size} bytes")
    return folded("Records", "\n\n".join(parts)) if parts else ""


def _hooks(made: EvidenceRecord) -> str:
    """Every hook that was for a touched file, then the names of the skipped ones by their reason."""
    hooks = made.details["hooks"]
    rows = [(code(hook["hook"]), hook["stage"], hook["outcome"], _said(hook["note"] or hook["reason"] or "-"))
            for hook in hooks if hook["outcome"] != "skip"]  # fmt: skip
    skipped: dict[str, list[str]] = {}
    for hook in hooks:
        if hook["outcome"] == "skip":
            skipped.setdefault(hook["reason"] or "no reason given", []).append(hook["hook"])
    lines = [f"Skipped, {text(reason)}: {codes(names)}" for reason, names in skipped.items()]
    return "\n\n".join([table(("hook", "stage", "result", "note"), rows), *lines])


def _rungs(made: EvidenceRecord) -> str:
    rows = [(rung["rung"], rung["outcome"], text(rung["summary"])) for rung in made.details["rungs"]]
    return table(("smoke rung", "result", "details"), rows)


def _tree(draft: Draft, gate: GateName) -> str:
    tree = draft.evidence[gate].tree
    if tree is None:
        return "-"
    named = f"{tree.package} {tree.version or ''}".strip()
    return f"{named} at {tree.commit[:12]}" if tree.commit else f"{named} ({tree.kind})"


BLOCK_WRITERS: dict[Block, Callable[[Draft], str]] = {
    "summary": summary, "claims": claims, "root-cause": root_cause, "duplicates": duplicates,
    "assistance": assistance, "commands": commands, "results": results, "not-proved": not_proved,
    "logs": logs,
}  # fmt: skip
