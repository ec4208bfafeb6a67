"""One release under the contract gate, as a report keeps it; worked out once per wheel."""

from __future__ import annotations

from collections.abc import Sequence

from pinproof import stamp
from pinproof.contract.check import check_tree
from pinproof.contract.model import LibraryUsed, Report
from pinproof.contract.output.findings import Finding, findings
from pinproof.releases import release_tree
from pinproof.remember import keep, place, recall
from pinproof.report.model import FindingFact, LibraryFact, ReleaseFact
from pinproof.report.probes import count_probes
from pinproof.tree import Tree

# An open range is taken at the newest release that it allows, which changes.
_FORMAT = "facts/1"  # raise it when a fact says something else
_OPEN_RANGE_S = 86_400.0
_UNREACHED_S = 600.0


def release_fact(project: str, version: str) -> ReleaseFact:
    """What the contract gate finds on a release.

    Raises:
        InputError: no such release.
        CannotCheck: the package index cannot be reached.
    """
    tree = release_tree(project, version)
    path = place(
        "report", _FORMAT, stamp.content("contract"), tree.name, str(getattr(tree.files, "sha256", ""))
    )
    known = recall(path, ReleaseFact, fresh=_fresh)
    if known is not None:
        return known
    found = _fact(tree, check_tree(tree, cached=True))
    keep(path, found)
    return found


def _fresh(fact: ReleaseFact) -> float | None:
    if fact.unchecked:
        return _UNREACHED_S
    settled = all(library.pin is None or " ==" in library.pin for library in fact.libraries)
    return None if settled else _OPEN_RANGE_S


def _fact(tree: Tree, report: Report) -> ReleaseFact:
    return ReleaseFact(
        release=tree.name, files=report.files_seen, uses=len(report.calls), bound=len(report.bound),
        open=len(report.open), failing=len(report.failing), guarded=len(report.guarded),
        probes=count_probes(tree),
        libraries=tuple(map(_library, report.libraries)),
        findings=finding_facts(findings(report.calls, guarded=True)),
        unchecked={item.library: item.reason for item in report.unchecked if item.pinned},
        command=f"pinproof contract --release {tree.name}",
    )  # fmt: skip


def _library(used: LibraryUsed) -> LibraryFact:
    pin = used.pin
    said = f"{pin.file}:{pin.line} {'==' if pin.exact else ''}{pin.spec}" if pin is not None else None
    return LibraryFact(name=used.library, version=used.version, source=used.source, pin=said)


def finding_facts(found: Sequence[Finding]) -> tuple[FindingFact, ...]:
    """The gate's findings as a report keeps them."""
    return tuple(
        FindingFact(
            id=one.id, code=one.code, kind=one.kind, file=one.file, line=one.line, callee=one.callee,
            library=one.library, message=one.message, declared=one.declared, guard=one.guard,
            confidence=one.confidence,
        )
        for one in found
    )  # fmt: skip
