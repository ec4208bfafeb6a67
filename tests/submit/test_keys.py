"""What evidence hangs on: the same keys with and without the patch applied, others after any edit."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import Conflict, InputError
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.keys import difference, keys, patch_hash, sides
from pinproof.tree import Tree, open_tree

from tests.submit.conftest import BROKEN, FIXED, MODEL, write_tree


def with_raw(patch: Patch, old: bytes, new: bytes) -> Patch:
    assert old in patch.raw
    return parse_patch(patch.raw.replace(old, new, 1), patch.name)


def test_a_tree_has_the_same_keys_with_and_without_the_patch(patch: Patch, tree: Tree) -> None:
    applied = tree.with_changes({MODEL: FIXED.encode()})
    assert keys(patch, tree, "contract") == keys(patch, applied, "contract")


def test_both_sides_are_the_whole_files(patch: Patch, tree: Tree) -> None:
    assert sides(patch, tree) == {MODEL: (BROKEN.encode(), FIXED.encode())}


def test_a_tree_where_the_patch_neither_applies_nor_stands_has_no_keys(patch: Patch, tree: Tree) -> None:
    other = tree.with_changes({MODEL: b"pass\n"})
    with pytest.raises(Conflict, match=r"neither applies to .* nor is in it"):
        keys(patch, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"+            situ_beta", b"+            situ_alpha"),
        (b"The values do not change", b"The values change"),
        (b"Remove-When: every", b"Remove-When: no"),
        (b"[Bugfix]", b"[Perf]"),
    ],
)
def test_any_edit_of_the_patch_changes_its_hash(patch: Patch, old: bytes, new: bytes) -> None:
    assert patch_hash(with_raw(patch, old, new)) != patch_hash(patch)


def test_the_bookkeeping_of_sending_does_not_change_the_hash(patch: Patch) -> None:
    sent = with_raw(patch, b"Upstream-Status: Pending", b"Upstream-Status: Submitted [https://x/pull/1]")
    assert patch_hash(sent) == patch_hash(patch)


def test_a_status_line_inside_the_diff_counts(patch: Patch) -> None:
    line = b"+            situ_beta=self.activation_beta,\n"
    with_status = with_raw(patch, line, b"+Upstream-Status: x\n")
    assert patch_hash(with_status) != patch_hash(with_raw(patch, line, b"+Upstream-Status: y\n"))


def test_a_moved_pin_makes_a_contract_key_differ_and_is_named(patch: Patch, tmp_path: Path) -> None:
    then = keys(patch, open_tree(write_tree(tmp_path / "a")), "contract")
    moved = write_tree(tmp_path / "b")
    cmake = moved / "cmake/external_projects/deepgemm.cmake"
    cmake.write_text(cmake.read_text().replace("8b1392b978f5", "e21c821f39a2"))
    now = keys(patch, open_tree(moved), "contract")
    assert difference(then, now) == "the pin of deep_gemm moved from 8b1392b978f5 to e21c821f39a2"
    assert (
        difference(keys(patch, open_tree(moved), "compile"), keys(patch, open_tree(moved), "compile")) is None
    )


def test_smoke_hangs_on_the_patchs_library_and_torch_only(patch: Patch, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "a", **{"requirements/cuda.txt": "torch==2.13.0\nquack-kernels==0.6.4\n"})
    assert set(keys(patch, open_tree(root), "smoke").pins) == {"deep_gemm", "torch"}


def test_a_pin_that_only_one_tree_states_makes_no_difference(patch: Patch, tmp_path: Path) -> None:
    then = keys(patch, open_tree(write_tree(tmp_path / "a")), "contract")
    installed = write_tree(tmp_path / "b")
    (installed / "cmake/external_projects/deepgemm.cmake").unlink()
    assert difference(then, keys(patch, open_tree(installed), "contract")) is None


def test_another_hook_configuration_makes_a_pre_commit_key_differ(patch: Patch, tmp_path: Path) -> None:
    then = keys(patch, open_tree(write_tree(tmp_path / "a")), "pre-commit")
    other = open_tree(write_tree(tmp_path / "b", **{".pre-commit-config.yaml": "repos: [] # x\n"}))
    assert difference(then, keys(patch, other, "pre-commit")) == ".pre-commit-config.yaml of the tree changed"


def test_another_touched_file_makes_a_key_differ_and_is_named(patch: Patch, tmp_path: Path) -> None:
    then = keys(patch, open_tree(write_tree(tmp_path / "a")))
    other = open_tree(write_tree(tmp_path / "b", **{MODEL: "# more\n" + BROKEN}))
    assert difference(then, keys(patch, other)) == f"{MODEL} is another file in this tree"


def test_a_duplicate_scan_hangs_on_the_patch_alone(patch: Patch, tree: Tree) -> None:
    assert keys(patch, None, "duplicates") == keys(patch, tree, "duplicates")
    with pytest.raises(InputError, match="a compile record needs the tree"):
        keys(patch, None, "compile")
