"""The records beside the patches: patches/vllm/evidence/PATCH/GATE.json, review.json, skip-GATE.json."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from pinproof.errors import InputError
from pinproof.gate import GateName, GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import patch_dir
from pinproof.paths import atomic_write, read_regular
from pinproof.submit.evidence import record
from pinproof.submit.outcome import check_outcome
from pinproof.submit.records import (
    LARGEST,
    AnyRecord,
    EvidenceRecord,
    ReviewRecord,
    SkipRecord,
    decode,
    encode,
    record_kind,
)
from pinproof.tree import Tree


class Store(msgspec.Struct, frozen=True):
    """The folder that holds a patch's records, in one folder a patch."""

    root: Path

    def folder(self, patch: Patch) -> Path:
        """Where the records of this patch lie (it need not exist)."""
        return self.root / patch.name.removesuffix(".patch")

    def path(self, patch: Patch, kind: str) -> Path:
        """The file of one record: a gate's name, `review`, or `skip-` and a gate's name."""
        return self.folder(patch) / f"{kind}.json"


def open_store(patches: Path | None = None) -> Store:
    """The store beside the patches: in the folder given, else where the series is."""
    return Store(patch_dir(patches) / "evidence")


def load_evidence(store: Store, patch: Patch, gate: GateName, now: datetime) -> EvidenceRecord | None:
    """A gate's record; None when there is none.

    Raises:
        InputError: the file is not a record, was edited, is dated in the future, or contradicts itself.
    """
    found = _load(store.path(patch, gate), EvidenceRecord, now)
    if found is not None:
        if found.gate != gate:
            raise InputError(f"{gate}.json holds a record of the {found.gate} gate")
        check_outcome(found)
    return found


def load_review(store: Store, patch: Patch, now: datetime) -> ReviewRecord | None:
    """The person's review; None when there is none.

    Raises:
        InputError: the file is no such record, was edited, or is dated in the future.
    """
    return _load(store.path(patch, "review"), ReviewRecord, now)


def load_skip(store: Store, patch: Patch, gate: GateName, now: datetime) -> SkipRecord | None:
    """The skip of a gate; None when there is none.

    Raises:
        InputError: the file is no such record, was edited, is dated in the future, or of another gate.
    """
    found = _load(store.path(patch, f"skip-{gate}"), SkipRecord, now)
    if found is not None and found.gate != gate:
        raise InputError(f"skip-{gate}.json holds a skip of the {found.gate} gate")
    return found


def save(store: Store, patch: Patch, made: EvidenceRecord | ReviewRecord | SkipRecord) -> Path:
    """Write a record in its place, whole or not at all; an older one of its kind is replaced.

    Evidence also replaces a skip of its gate: what was run was not skipped.
    """
    path = store.path(patch, record_kind(made))
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, encode(made))
    if isinstance(made, EvidenceRecord) and made.outcome == "pass":
        store.path(patch, f"skip-{made.gate}").unlink(missing_ok=True)
    return path


def keep(patch: Patch, tree: Tree | None, result: GateResult, patches: Path | None = None) -> Path:
    """Record a gate's result beside the patches: what every command that ran a gate calls at its end.

    Args:
        patch: the patch the gate looked at.
        tree: the tree it looked at, with or without the patch applied; None for duplicates.
        result: what the gate returned.
        patches: the patch folder; default as for the series.

    Returns:
        The file that holds the record.

    Raises:
        Conflict: the patch neither applies to the tree nor is in it, so there is nothing to hang it on.
        InputError: the outcome contradicts the details.
    """
    return save(open_store(patches), patch, record(patch, tree, result))


def _load(path: Path, kind: type[AnyRecord], now: datetime) -> AnyRecord | None:
    try:
        raw = read_regular(path, LARGEST)
    except FileNotFoundError:
        return None
    return decode(raw, kind, path.name, now)
