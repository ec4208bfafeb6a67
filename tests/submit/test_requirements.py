"""What is unmet is named with the reason and the command that clears it; nothing skipped shows as met."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from pinproof.errors import InputError, Refused
from pinproof.gate import GATES, GateName, GateResult
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.evidence import GATE_VERSIONS, record
from pinproof.submit.keys import keys
from pinproof.submit.policy import Policy
from pinproof.submit.records import Person, encode, sealed
from pinproof.submit.requirements import Requirement, requirements, unmet
from pinproof.submit.skipping import make_skip
from pinproof.submit.store import Store, load_evidence, save
from pinproof.tree import Tree, open_tree

from tests.submit.conftest import BROKEN, FIXED, MODEL, NAME, NOW, PERSON, REAL, review_of, write_tree
from tests.submit.planted import proved, store_all


def by_item(found: list[Requirement]) -> dict[str, Requirement]:
    return {item.item: item for item in found}


def test_with_no_record_at_all_everything_is_missing_with_its_command(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    found = by_item(unmet(patch, tree, policy, store, NOW))
    assert list(found) == [*GATES, "review", "assistance"]
    assert {item.state for item in found.values()} == {"missing"}
    assert found["smoke"].clear == f"pinproof smoke 0001 {tree.name}"
    assert found["review"].clear == f"pinproof review 0001 {tree.name}"


def test_with_all_records_and_a_review_nothing_is_unmet(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    assert unmet(patch, tree, policy, store, NOW) == []
    assert {item.state for item in requirements(patch, tree, policy, store, NOW)} == {"met"}


def test_records_of_the_tree_with_the_patch_in_hold_for_the_tree_without(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    assert unmet(patch, tree.with_changes({MODEL: FIXED.encode()}), policy, store, NOW) == []


def test_an_edited_patch_makes_every_record_stale(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    edited = parse_patch(patch.raw.replace(b"The values do not change", b"No value changes"), patch.name)
    found = by_item(unmet(edited, tree, policy, store, NOW))
    assert {item: found[item].state for item in found} == dict.fromkeys(
        [*GATES, "review", "assistance"], "stale"
    )
    assert "the patch was edited since" in found["compile"].why


def test_an_edited_touched_file_makes_every_record_about_a_tree_stale(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    other = tree.with_changes({MODEL: b"# more\n" + BROKEN.encode()})
    found = {item.item: item.state for item in unmet(patch, other, policy, store, NOW) if item.item in GATES}
    assert found == dict.fromkeys(["contract", "compile", "pre-commit", "smoke"], "stale")


def test_a_duplicate_scan_older_than_a_day_is_stale_and_the_others_are_not(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    assert unmet(patch, tree, policy, store, NOW + timedelta(hours=24)) == []
    found = unmet(patch, tree, policy, store, NOW + timedelta(hours=25))
    assert [(item.item, item.state) for item in found] == [("duplicates", "stale")]
    assert "25 h old; the policy allows 24 h" in found[0].why


def test_a_gate_that_checks_more_since_makes_its_record_stale(
    patch: Patch, tree: Tree, policy: Policy, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_all(store, patch, tree)
    monkeypatch.setitem(GATE_VERSIONS, "compile", 2)
    found = by_item(unmet(patch, tree, policy, store, NOW))
    assert found["compile"].state == "stale"
    assert "contract" not in found


def broken(result: GateResult) -> GateResult:
    """The same gate's result, failing in its own way."""
    details = {
        "contract": lambda d: {**d, "after": d["before"]},
        "compile": lambda d: {**d, "faults": [{"path": MODEL, "line": 1, "message": "x", "python": "3.10"}]},
        "pre-commit": lambda d: {**d, "hooks": [{**d["hooks"][0], "outcome": "fail"}]},
        "duplicates": lambda d: {**d, "hits": [{**d["hits"][0], "verdict": "same change", "state": "open"}]},
        "smoke": lambda d: {**d, "rungs": [{**d["rungs"][0], "outcome": "fail"}]},
    }[result.gate](result.details)
    return replace(result, outcome="fail", details=details, summary="it broke")


@pytest.mark.parametrize("gate", GATES)
def test_a_failed_gate_is_failed_whichever_it_is(
    patch: Patch, tree: Tree, policy: Policy, store: Store, gate: GateName
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    save(store, patch, record(patch, tree, broken(proved(patch, tree)[gate]), NOW))
    found = unmet(patch, tree, policy, store, NOW)
    assert [(item.item, item.state, item.why) for item in found] == [(gate, "failed", "it broke")]


@pytest.mark.parametrize("gate", GATES)
def test_a_pass_over_a_recorded_failure_cannot_be_recorded(patch: Patch, tree: Tree, gate: GateName) -> None:
    lie = replace(broken(proved(patch, tree)[gate]), outcome="pass")
    with pytest.raises(InputError, match=f"the {gate} record says pass, but "):
        record(patch, tree, lie, NOW)


@pytest.mark.parametrize("gate", GATES)
def test_a_forged_pass_in_the_store_is_refused(
    patch: Patch, tree: Tree, policy: Policy, store: Store, gate: GateName
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    made = record(patch, tree, broken(proved(patch, tree)[gate]), NOW)
    forged = sealed(replace(made, outcome="pass"))
    store.path(patch, gate).write_bytes(encode(forged))
    (found,) = unmet(patch, tree, policy, store, NOW)
    assert (found.item, found.state) == (gate, "failed")
    assert "record refused" in found.why


def test_a_gate_that_could_not_be_run_is_missing_and_says_why(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    result = GateResult(gate="smoke", outcome="skip", summary="-", reason="no interpreter with torch here")
    save(store, patch, record(patch, tree, result, NOW))
    found = by_item(unmet(patch, tree, policy, store, NOW))["smoke"]
    assert (found.state, found.why) == ("missing", "could not be run: no interpreter with torch here")


def test_a_smoke_run_of_the_unpatched_tree_proves_nothing(patch: Patch, tree: Tree) -> None:
    result = proved(patch, tree)["smoke"]
    before = {file.path: file.before for file in keys(patch, tree).files}
    without = replace(result, details={**result.details, "files": before})
    with pytest.raises(InputError, match=r"says pass, but it ran .*model\.py without the patch"):
        record(patch, tree, without, NOW)


def test_a_skip_without_a_reason_cannot_be_recorded(patch: Patch, tree: Tree) -> None:
    with pytest.raises(InputError, match="gives no reason"):
        record(patch, tree, GateResult(gate="smoke", outcome="skip", summary="-", reason=" "), NOW)


def test_an_accepted_skip_shows_as_skipped_with_reason_and_name(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    store.path(patch, "smoke").unlink()
    save(store, patch, review_of(patch, tree))
    save(store, patch, make_skip("smoke", patch, tree, PERSON, "no machine with torch at hand", policy, NOW))
    (found,) = unmet(patch, tree, policy, store, NOW)
    assert (found.item, found.state, found.open) == ("smoke", "skipped", False)
    assert found.why == "no machine with torch at hand (Test Person <test@example.org>, 2026-11-30)"


def test_a_skip_by_someone_who_does_not_submit_is_not_accepted(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    other = Person(name="Other", email="other@example.org")
    save(store, patch, make_skip("smoke", patch, tree, other, "I would rather not run it", policy, NOW))
    save(store, patch, review_of(patch, tree))
    found = by_item(unmet(patch, tree, policy, store, NOW))["smoke"]
    assert (found.state, "may not skip it" in found.why) == ("failed", True)


def test_a_skip_of_an_older_patch_is_stale(patch: Patch, tree: Tree, policy: Policy, store: Store) -> None:
    save(store, patch, make_skip("smoke", patch, tree, PERSON, "no machine with torch at hand", policy, NOW))
    edited = parse_patch(patch.raw.replace(b"The values do not change", b"No value changes"), patch.name)
    assert by_item(unmet(edited, tree, policy, store, NOW))["smoke"].state == "stale"


@pytest.mark.parametrize("gate", ["contract", "compile", "pre-commit", "duplicates"])
def test_only_what_the_policy_allows_can_be_skipped(
    patch: Patch, tree: Tree, policy: Policy, gate: GateName
) -> None:
    with pytest.raises(Refused, match=r"does not let test@example\.org skip"):
        make_skip(gate, patch, tree, PERSON, "a long enough reason", policy, NOW)


def test_a_skip_needs_words(patch: Patch, tree: Tree, policy: Policy) -> None:
    with pytest.raises(InputError, match="the reason does not do"):
        make_skip("smoke", patch, tree, PERSON, "no", policy, NOW)


def test_passing_evidence_takes_the_place_of_a_skip(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    save(store, patch, make_skip("smoke", patch, tree, PERSON, "no machine with torch at hand", policy, NOW))
    store_all(store, patch, tree)
    assert not store.path(patch, "skip-smoke").exists()


def test_a_review_of_other_lines_does_not_count(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    review = review_of(patch, tree)
    hunks = [replace(review.hunks[0], lines_sha256="0" * 64)]
    save(store, patch, sealed(replace(review, hunks=hunks)))
    found = by_item(unmet(patch, tree, policy, store, NOW))["review"]
    assert (found.state, found.why) == ("failed", "1 hunks were not read by a person")


def test_a_backport_is_not_submitted_again(tree: Tree, policy: Policy, store: Store) -> None:
    merged = parse_patch(REAL.read_bytes(), NAME)
    found = by_item(unmet(merged, tree, policy, store, NOW))["upstream-status"]
    assert (found.state, found.why) == (
        "failed",
        "Backport [v0.28.0]: only Pending or Submitted is submitted",
    )


def test_a_large_change_needs_an_rfc(patch: Patch, tree: Tree, policy: Policy, store: Store) -> None:
    small = replace(policy, size=replace(policy.size, rfc_over_lines=3))
    found = by_item(unmet(patch, tree, small, store, NOW))["size"]
    assert (found.state, found.why) == ("missing", "4 changed lines: above 3 an RFC issue is needed")
    review = sealed(replace(review_of(patch, tree), rfc="https://github.com/vllm-project/vllm/issues/1"))
    save(store, patch, review)
    assert "size" not in by_item(unmet(patch, tree, small, store, NOW))


def test_a_record_under_another_gates_name_is_refused(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    store.path(patch, "smoke").write_bytes(store.path(patch, "compile").read_bytes())
    found = by_item(unmet(patch, tree, policy, store, NOW))["smoke"]
    assert "holds a record of the compile gate" in found.why


def test_a_moved_pin_makes_contract_and_smoke_stale_though_no_touched_file_changed(
    patch: Patch, tree: Tree, policy: Policy, store: Store, tmp_path: Path
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    moved = write_tree(tmp_path / "moved")
    cmake = moved / "cmake/external_projects/deepgemm.cmake"
    cmake.write_text(cmake.read_text().replace("8b1392b978f5", "e21c821f39a2"))
    found = unmet(patch, open_tree(moved), policy, store, NOW)
    assert [(item.item, item.state) for item in found] == [("contract", "stale"), ("smoke", "stale")]


def test_loading_needs_no_tree_and_gives_back_what_was_saved(patch: Patch, tree: Tree, store: Store) -> None:
    made = record(patch, tree, proved(patch, tree)["compile"], NOW)
    save(store, patch, made)
    assert load_evidence(store, patch, "compile", NOW) == made
