"""From judged hits to the gate's outcome and its record."""

from __future__ import annotations

from typing import Any

import msgspec

from pinproof.duplicates import decisions
from pinproof.duplicates.searches import Search
from pinproof.duplicates.subject import Subject
from pinproof.duplicates.verdicts import Hit
from pinproof.gate import GateResult, Outcome
from pinproof.patchset.patchfile import Patch

DEFAULT_REPO = "vllm-project/vllm"
SHOWN = 10


class Seen(msgspec.Struct, kw_only=True):
    """What a scan could see. `gaps` are the reasons why it did not see everything."""

    searches: list[Search] = []
    open_total: int | None = None
    named: frozenset[int] = frozenset()
    requests: int = 0
    cost: int = 0
    authenticated: bool = False
    git: str | None = None
    """"used", or why the diffs did not come by git."""
    git_bytes: int = 0
    unread: int = 0
    gaps: list[str] = []


def gap(seen: Seen, text: str, hint: str | None = None) -> None:
    """Note a reason why not everything was seen, with what helps."""
    seen.gaps.append(f"{text} ({hint})" if hint else text)


def asks(hit: Hit) -> bool:
    """Whether a hit stands against the patch until a person has answered it."""
    return hit.verdict in ("same change", "same problem, other approach")


def gate_result(
    patch: Patch, subject: Subject, repo: str, hits: list[Hit], seen: Seen, coverage: dict[str, Any],
    reasons: list[decisions.Decision], duration: float,
) -> GateResult:  # fmt: skip
    change = subject.diff.change_id or patch.sha256
    seen.gaps += [
        _half_seen(hit) for hit in hits if hit.diff_cut and hit.signals.get("files") and not asks(hit)
    ]
    shown = _worth_showing(hits)
    reported = [_reported(hit, subject, repo, change, reasons, seen) for hit in shown]
    against = [item for item in reported if item["blocks"]]
    outcome, summary = _outcome(against, seen, coverage)
    details = {
        "repo": repo, "patch": patch.name, "patch_sha256": patch.sha256, "change": change,
        "date": decisions.today(), "queries": msgspec.to_builtins(seen.searches), "inspected": coverage,
        "compared": sum(hit.diff_seen for hit in hits), "hits": reported, "gaps": seen.gaps,
        "requests": seen.requests, "graphql_cost": seen.cost, "authenticated": seen.authenticated,
    }  # fmt: skip
    return GateResult(
        gate="duplicates", outcome=outcome, summary=summary,
        reason="; ".join(seen.gaps) if outcome == "skip" else None,
        clear=_clear(outcome, against, patch, repo), duration_s=round(duration, 3), details=details,
    )  # fmt: skip


def _half_seen(hit: Hit) -> str:
    """A diff that was seen in part may hide the patch in the other part."""
    return f"#{hit.number} touches the patch's files, and its diff is too large to be seen whole"


def _worth_showing(hits: list[Hit]) -> list[Hit]:
    """The nearest ones, and whatever a person must answer or know, however far down."""
    strong = [hit for hit in hits if hit.verdict not in ("related", "different")]
    near = [hit for hit in hits if hit not in strong][: max(SHOWN - len(strong), 3)]
    return sorted([*strong, *near], key=lambda hit: -hit.score)


def _reported(
    hit: Hit, subject: Subject, repo: str, change: str, reasons: list[decisions.Decision], seen: Seen
) -> dict[str, Any]:
    """A hit with the human's reason if there is one, and whether it stands against the patch."""
    record: dict[str, Any] = msgspec.to_builtins(hit)
    reason = decisions.standing(reasons, change, repo, hit.number, hit.head)
    declared = hit.number in subject.origin and hit.state == "merged"
    record["declared"] = declared
    record["named_in_issue"] = hit.number in seen.named
    record["because"] = reason.because if reason else None
    record["decided_by"] = reason.by if reason else None
    record["blocks"] = asks(hit) and not declared and reason is None
    return record


def _outcome(against: list[dict[str, Any]], seen: Seen, coverage: dict[str, Any]) -> tuple[Outcome, str]:
    looked = f"{coverage['open']} open, {coverage['merged']} merged, {coverage['closed_unmerged']} closed"
    if against:
        worst = against[0]
        more = f", and {len(against) - 1} more" if len(against) > 1 else ""
        return "fail", f"{worst['verdict']}: #{worst['number']} ({worst['state']}){more}; {looked} looked at"
    if seen.gaps:
        return "skip", f"nothing found, but not everything was seen ({looked})"
    return "pass", f"no pull request does this; {looked} looked at"


def _clear(outcome: Outcome, against: list[dict[str, Any]], patch: Patch, repo: str) -> str | None:
    door = f"tools/duplicates.sh {patch.name}" + (f" --repo {repo}" if repo != DEFAULT_REPO else "")
    if outcome == "pass":
        return None
    if outcome == "skip":
        return door
    first = against[0]
    if first["verdict"] == "same change" and first["state"] == "open":
        return f"gh pr view {first['number']} --repo {repo} --comments  (help there; do not open another)"
    return f'{door} --not-a-duplicate {first["number"]} --because "..."'
