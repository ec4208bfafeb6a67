"""The witness rung: dies before and runs after, fails where it still dies, a skip where there is none."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from pinproof.patchset.change import contents_after
from pinproof.patchset.witnessing import witness_rung

from tests.patchset.test_contract_kinds import CASES, FILE, both_sides, world


def test_a_witness_dies_without_the_patch_and_runs_with_it(tmp_path: Path) -> None:
    before, after, contract = CASES["missing-required"]
    patch, tree, libraries = world(tmp_path, before, after, f"{FILE} {contract}")
    first, then = both_sides(patch, tree, libraries)
    found = witness_rung(first, then, tree, tree.with_changes(contents_after(tree, patch)))
    error = "TypeError: gemm() missing 1 required keyword-only argument: 'swap_ab'"
    assert (found.outcome, [made.error for made in found.before]) == ("pass", [error])
    assert [made.error for made in found.after] == [None]


def test_a_witness_that_still_dies_with_the_patch_is_a_failure(tmp_path: Path) -> None:
    before, after, contract = CASES["unexpected-keyword"]
    patch, tree, libraries = world(tmp_path, before, after, f"{FILE} {contract}")
    first, then = both_sides(patch, tree, libraries)
    found = witness_rung(first, replace(then, calls=first.calls), tree, tree)
    assert found.outcome == "fail"
    assert "got an unexpected keyword argument 'dest'" in found.summary


def test_a_missing_name_has_no_witness_and_that_is_no_pass(tmp_path: Path) -> None:
    before, after, contract = CASES["missing-attribute"]
    patch, tree, libraries = world(tmp_path, before, after, f"{FILE} {contract}")
    first, then = both_sides(patch, tree, libraries)
    found = witness_rung(first, then, tree, tree.with_changes(contents_after(tree, patch)))
    assert found.outcome == "skip"
    assert "there is no signature to make a stub of" in found.summary


def test_nothing_of_the_tree_is_evaluated(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    before = f"ops.gemm(x, open({str(mark)!r}, 'w'), dest=().__class__.__base__, swap_ab=1)"
    patch, tree, libraries = world(
        tmp_path, before, "ops.gemm(x, m, swap_ab=1)", f"{FILE} quack.ops.gemm swap_ab"
    )
    first, then = both_sides(patch, tree, libraries)
    found = witness_rung(first, then, tree, tree.with_changes(contents_after(tree, patch)))
    assert found.outcome == "pass"
    assert "open(" not in found.before[0].program
    assert not mark.exists()
