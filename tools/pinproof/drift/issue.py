"""The text of the one issue: what came out, what it breaks, and the command that shows it again."""

from __future__ import annotations

import hashlib
import re

import msgspec

from pinproof.drift.findings import Broken, Bumped, Findings, NewRelease
from pinproof.markdown import code, table, text

MARK = "<!-- pinproof drift watch -->"
# GitHub takes 65,536 characters; older looks are cut off at the end first.
LONGEST = 60_000
_MOST_ROWS = 40


def title(findings: Findings) -> str:
    """The issue's title: what came out last, and whether it breaks something."""
    names = [release.release.replace("==", " ") for release in findings.releases[-1:]]
    names += [f"{item.library.project} {item.library.version}" for item in findings.libraries]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"Drift watch: {shown}" + ("" if findings.alarming else " (nothing breaks)")


def section(findings: Findings) -> str:
    """One look as Markdown; outside text is escaped."""
    parts = [f"<!-- look {digest(findings)} -->"]
    parts += [_release(release) for release in findings.releases]
    parts += [_bump(item) for item in findings.libraries]
    if findings.unread:
        parts.append(f"Not looked at, too many at once: {', '.join(map(code, findings.unread))}.")
    for project, why in findings.unseen.items():
        parts.append(f"Could not look up {code(project)}: {text(why)}.")
    return "\n\n".join(parts)


def body(findings: Findings, before: str = "") -> str:
    """The issue's body: this look on top of the earlier ones; the same look is never put there twice.

    Args:
        findings: the look to report.
        before: the issue's body so far, empty for a new issue.
    """
    if digest(findings) in re.findall(r"<!-- look ([0-9a-f]{16}) -->", before):
        return before
    preface, _, earlier = before.partition(MARK) if MARK in before else ("", "", before)
    whole = f"{preface}{MARK}\n\n{section(findings)}"
    if earlier.strip():
        whole += f"\n\n---\n\n{earlier.strip()}"
    if len(whole) <= LONGEST:
        return whole
    return whole[:LONGEST].rpartition("\n")[0] + "\n\nEarlier looks are cut off here; see the edit history."


def digest(findings: Findings) -> str:
    """What tells two looks apart: a hash of everything but the order of their libraries."""
    return hashlib.sha256(msgspec.json.encode(findings, order="sorted")).hexdigest()[:16]


def _release(release: NewRelease) -> str:
    parts = [f"### {text(release.release)}"]
    parts.append(table(("patch", "verdict", "why"), [
        (code(item.patch), code(item.verdict), text(item.sentence)) for item in release.verdicts
    ]))  # fmt: skip
    if release.moved:
        rows = [(code(m.library), code(m.before or "-"), code(m.after or "-")) for m in release.moved]
        parts.append("Pins that moved since the release before:")
        parts.append(table(("library", "from", "to"), rows[:_MOST_ROWS]))
    parts.append(_calls("Calls that do not fit the pinned libraries", release.broken, release.unchecked))
    parts.append(_command(release.command))
    return "\n\n".join(parts)


def _bump(item: Bumped) -> str:
    library = item.library
    what = f"Calls in {item.engine} that break if {library.project} moves from {library.pinned}"
    parts = [f"### {text(f'{library.project} {library.version}')}"]
    parts.append(_calls(text(what), item.broken, item.unchecked))
    parts.append(_command(item.command))
    return "\n\n".join(parts)


def _calls(heading: str, broken: list[Broken], unchecked: dict[str, str]) -> str:
    parts = [f"{heading}: {len(broken) or 'none'}."]
    if broken:
        rows = [(code(call.place), code(call.callee), text(call.drift)) for call in broken[:_MOST_ROWS]]
        parts.append(table(("place", "calls", "drift"), rows))
    if len(broken) > _MOST_ROWS:
        parts.append(f"{len(broken) - _MOST_ROWS} more: run the command.")
    for library, why in unchecked.items():
        parts.append(f"**Not checked**: {code(library)}: {text(why)}.")
    return "\n\n".join(parts)


def _command(command: str) -> str:
    return f"See it: {code(command)}"
