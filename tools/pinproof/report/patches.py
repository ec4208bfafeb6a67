"""The series as a report shows it: verdicts over the releases, and the gates' records with their dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pinproof.errors import PinproofError
from pinproof.gate import GATES, GateName
from pinproof.patchset.change import contents_after
from pinproof.patchset.contracts import contracts_of
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.verdict import judge
from pinproof.releases import release_tree
from pinproof.report.model import GateFact, PatchFact, VerdictFact
from pinproof.submit.keys import patch_hash
from pinproof.submit.store import Store, load_evidence


def patch_fact(patch: Patch, project: str, versions: Sequence[str], store: Store, now: datetime) -> PatchFact:
    """Everything about one patch.

    Args:
        patch: the patch.
        project: the engine on the package index.
        versions: the releases to judge it on, oldest first.
        store: where its records are.
        now: the time, timezone-aware.
    """
    fixed_in = (patch.field("Applied-Upstream") or "").removeprefix("v")
    verdicts: list[VerdictFact] = []
    for version in versions:
        if version == fixed_in:
            verdicts.append(_verdict(patch, project, version, without=True))
        verdicts.append(_verdict(patch, project, version))
    return PatchFact(
        name=patch.name, number=patch.number, title=patch.subject, origin=_link(patch.field("Origin")),
        upstream_status=patch.field("Upstream-Status") or "not stated",
        callees=tuple(dict.fromkeys(contract.callee for contract in contracts_of(patch))),
        verdicts=tuple(verdicts), gates=tuple(_gate(patch, gate, store, now) for gate in GATES),
    )  # fmt: skip


def _link(origin: str | None) -> str | None:
    """The https address in an Origin field."""
    found = [word for word in (origin or "").replace(",", " ").split() if word.startswith("https://")]
    return found[0] if found else None


def _verdict(patch: Patch, project: str, version: str, *, without: bool = False) -> VerdictFact:
    release = f"{project}=={version}"
    command = f"pinproof verdict {patch.number} --release {release}"
    if without:
        command = (
            f"pinproof fetch {release} DIR --without {patch.number} && pinproof verdict {patch.number} DIR"
        )
    number = patch.number if without else None
    try:
        tree = release_tree(project, version)
        if without:
            tree = tree.with_changes(contents_after(tree, patch, reverse=True))
        found = judge(patch, tree)
    except PinproofError as error:
        return VerdictFact(
            release=release, without=number, verdict="unknown", sentence=error.message, source=None,
            command=command,
        )  # fmt: skip
    return VerdictFact(
        release=release, without=number, verdict=found.verdict, sentence=found.sentence, source=found.source,
        command=command,
    )  # fmt: skip


def _gate(patch: Patch, gate: GateName, store: Store, now: datetime) -> GateFact:
    try:
        made = load_evidence(store, patch, gate, now)
    except PinproofError as error:
        return GateFact(gate=gate, outcome="refused", summary=error.message)
    if made is None:
        return GateFact(gate=gate, outcome="not run", summary="no record")
    outcome = made.outcome if made.keys.patch_sha256 == patch_hash(patch) else "edited"
    return GateFact(gate=gate, outcome=outcome, summary=made.summary, when=made.date)
