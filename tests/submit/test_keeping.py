"""A run that could not be made destroys no proof; the same result leaves the older record's bytes alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.submit.policy import Policy
from pinproof.submit.store import Store, keep, load_evidence
from pinproof.tree import Tree

from tests.submit.conftest import NOW
from tests.submit.planted import proved

LATER = NOW + timedelta(hours=1)


def outcome_of(store: Store, patch: Patch) -> str | None:
    made = load_evidence(store, patch, "duplicates", NOW + timedelta(days=30))
    return made.outcome if made else None


@pytest.fixture(autouse=True)
def _series(store: Store, patch: Patch) -> None:
    store.root.parent.mkdir(parents=True, exist_ok=True)
    (store.root.parent / "series").write_text(f"{patch.name}\n")


@pytest.fixture
def passed(patch: Patch, tree: Tree) -> GateResult:
    return proved(patch, tree)["duplicates"]


@pytest.mark.parametrize("outcome", ["skip", "error"])
def test_a_scan_that_could_not_be_made_leaves_the_pass_in_place(
    patch: Patch, store: Store, policy: Policy, passed: GateResult, outcome: str
) -> None:
    keep(patch, None, passed, store.root.parent, policy=policy, now=NOW)
    before = store.path(patch, "duplicates").read_bytes()
    failed = GateResult(gate="duplicates", outcome=outcome, summary="nothing seen", reason="wrong token")  # type: ignore[arg-type]
    kept = keep(patch, None, failed, store.root.parent, policy=policy, now=NOW + timedelta(days=20))
    assert not kept.written
    assert "this run could not be made (wrong token)" in (kept.why or "")
    assert store.path(patch, "duplicates").read_bytes() == before


def test_a_run_that_failed_takes_the_place_of_a_pass(
    patch: Patch, store: Store, policy: Policy, passed: GateResult
) -> None:
    keep(patch, None, passed, store.root.parent, policy=policy, now=NOW)
    hit = {"number": 1, "verdict": "same change", "state": "open", "because": "", "declared": False}
    failed = replace(passed, outcome="fail", summary="#1 does it", details={**passed.details, "hits": [hit]})
    assert keep(patch, None, failed, store.root.parent, policy=policy, now=LATER).written
    assert outcome_of(store, patch) == "fail"


def test_the_same_result_on_the_same_content_leaves_the_bytes_alone_until_it_is_too_old(
    patch: Patch, store: Store, policy: Policy, passed: GateResult
) -> None:
    keep(patch, None, passed, store.root.parent, policy=policy, now=NOW)
    before = store.path(patch, "duplicates").read_bytes()
    again = keep(patch, None, replace(passed, duration_s=99.0), store.root.parent, policy=policy, now=LATER)
    assert not again.written
    assert store.path(patch, "duplicates").read_bytes() == before
    assert keep(patch, None, passed, store.root.parent, policy=policy, now=NOW + timedelta(hours=25)).written
    assert store.path(patch, "duplicates").read_bytes() != before


def test_a_damaged_record_is_no_proof_to_keep(
    patch: Patch, store: Store, policy: Policy, passed: GateResult
) -> None:
    keep(patch, None, passed, store.root.parent, policy=policy, now=NOW)
    path = store.path(patch, "duplicates")
    path.write_bytes(path.read_bytes().replace(b"pass", b"fail", 1))
    assert keep(patch, None, passed, store.root.parent, policy=policy, now=LATER).written
