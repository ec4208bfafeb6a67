"""Apply and revert: the verdict decides, everything changes or nothing, and revert gives the bytes back."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pinproof.errors import Conflict, InputError, Refused
from pinproof.patchset.apply import carry_out, plan_apply, plan_revert, settle_tree, unified_diff
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import find_patch
from pinproof.tree import open_tree

from tests.trees import FORK, MODEL, SITU, make_tree, model_file, vendor_library


def apply(patch: Patch, root: Path, *, force: bool = False, three_way: bool = False) -> None:
    tree = open_tree(root)
    plan = plan_apply([patch], tree, named=True, force=force, three_way=three_way)
    carry_out(plan, tree, series=[patch])


def revert(patch: Patch, root: Path) -> None:
    tree = open_tree(root)
    carry_out(plan_revert([patch], tree, named=True), tree, series=[patch])


def git(root: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def make_repository(root: Path) -> Path:
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        git(root, *args)
    return root


@pytest.fixture(params=["plain", "git", "installed"])
def tree(request: pytest.FixtureRequest, broken_tree: Path) -> Path:
    if request.param == "git":
        make_repository(broken_tree)
    if request.param == "installed":
        info = broken_tree / "vllm-0.28.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.4\nName: vllm\nVersion: 0.28.0\n")
    return broken_tree


def test_apply_writes_the_fix_and_revert_the_exact_bytes_and_mode(tree: Path, patch: Patch) -> None:
    before = (tree / MODEL).read_bytes()
    (tree / MODEL).chmod(0o600)
    apply(patch, tree)
    assert (tree / MODEL).read_bytes() == model_file(patch, fixed=True)
    revert(patch, tree)
    assert (tree / MODEL).read_bytes() == before
    if not (tree / ".git").exists():  # git keeps only the executable bit
        assert stat.S_IMODE((tree / MODEL).stat().st_mode) == 0o600


def test_an_applied_patch_is_a_success_that_writes_nothing(tree: Path, patch: Patch) -> None:
    apply(patch, tree)
    stamp = (tree / MODEL).stat().st_mtime_ns
    plan = plan_apply([patch], open_tree(tree), named=True)
    assert [(step.action, step.note) for step in plan.steps] == [("nothing", "already applied")]
    carry_out(plan, open_tree(tree), series=[patch])
    assert (tree / MODEL).stat().st_mtime_ns == stamp


def test_index_and_worktree_of_a_git_tree_agree(broken_git_tree: Path, patch: Patch) -> None:
    apply(patch, broken_git_tree)
    assert git(broken_git_tree, "status", "--porcelain") == f"M  {MODEL}\n"
    revert(patch, broken_git_tree)
    assert git(broken_git_tree, "status", "--porcelain") == ""


def test_other_peoples_dirty_files_are_left_alone(broken_git_tree: Path, patch: Patch) -> None:
    (broken_git_tree / "vllm/__init__.py").write_text("# mine\n")
    (broken_git_tree / "notes.txt").write_text("mine")
    apply(patch, broken_git_tree)
    revert(patch, broken_git_tree)
    assert git(broken_git_tree, "status", "--porcelain") == " M vllm/__init__.py\n?? notes.txt\n"


@pytest.mark.parametrize("staged", [False, True])
def test_a_dirty_touched_file_is_refused(broken_git_tree: Path, patch: Patch, staged: bool) -> None:
    model = broken_git_tree / MODEL
    edited = model.read_bytes() + b"# mine\n"
    model.write_bytes(edited)
    if staged:
        git(broken_git_tree, "add", "-A")
    with pytest.raises(Refused, match="uncommitted changes"):
        apply(patch, broken_git_tree)
    assert model.read_bytes() == edited


def test_a_named_patch_that_is_not_needed_is_refused_and_says_what_would_break(
    tmp_path: Path, patch: Patch
) -> None:
    root = make_tree(tmp_path / "tree", patch, fixed=False, declares=FORK)
    with pytest.raises(Refused, match=r"not-needed.*would break a working tree.*situ_beta"):
        apply(patch, root)
    assert (root / MODEL).read_bytes() == model_file(patch, fixed=False)


def test_force_writes_it_all_the_same(tmp_path: Path, patch: Patch) -> None:
    root = make_tree(tmp_path / "tree", patch, fixed=False, declares=FORK)
    apply(patch, root, force=True)
    assert (root / MODEL).read_bytes() == model_file(patch, fixed=True)


def test_a_conflict_names_the_hunk_and_writes_nothing(tree: Path, patch: Patch) -> None:
    model = tree / MODEL
    model.write_bytes(model.read_bytes().replace(b"fast_math=fast_math", b"fast_math=self.fast"))
    if (tree / ".git").exists():
        git(tree, "commit", "-qam", "moved on")
    before = model.read_bytes()
    with pytest.raises(Conflict, match=r"hunk 1 \(line 486\)"):
        apply(patch, tree)
    assert model.read_bytes() == before


def test_three_way_merges_from_the_blob_the_patch_was_made_on(broken_git_tree: Path, patch: Patch) -> None:
    base_id = git(broken_git_tree, "rev-parse", f"HEAD:{MODEL}").strip()
    raw = patch.raw.replace((patch.diffs[0].old_id or "").encode(), base_id.encode())
    mine = broken_git_tree.parent / patch.name
    mine.write_bytes(raw)
    local = find_patch(str(mine))
    model = broken_git_tree / MODEL
    model.write_bytes(
        model.read_bytes().replace(b"            symm_buffer,\n", b"            symm_buffers,\n")
    )
    git(broken_git_tree, "commit", "-qam", "context moved on")
    with pytest.raises(Conflict):
        apply(local, broken_git_tree)
    apply(local, broken_git_tree, three_way=True)
    text = model.read_bytes()
    assert b"symm_buffers,\n" in text
    assert b"situ_beta=self.activation_beta" in text
    assert git(broken_git_tree, "status", "--porcelain") == f"M  {MODEL}\n"


def test_a_crlf_tree_keeps_its_line_ends(tree: Path, patch: Patch) -> None:
    model = tree / MODEL
    model.write_bytes(model.read_bytes().replace(b"\n", b"\r\n"))
    if (tree / ".git").exists():
        git(tree, "commit", "-qam", "crlf")
    before = model.read_bytes()
    apply(patch, tree)
    assert model.read_bytes() == model_file(patch, fixed=True).replace(b"\n", b"\r\n")
    revert(patch, tree)
    assert model.read_bytes() == before


def test_a_file_without_a_final_newline_and_a_non_utf8_neighbour(tree: Path, patch: Patch) -> None:
    model = tree / MODEL
    model.write_bytes(model.read_bytes().rstrip(b"\n"))
    (model.parent / "latin.py").write_bytes(b"# \xe9\xff\n")
    if (tree / ".git").exists():
        git(tree, "add", "-A")
        git(tree, "commit", "-qm", "odd files")
    before = model.read_bytes()
    apply(patch, tree)
    revert(patch, tree)
    assert model.read_bytes() == before


def test_a_path_with_spaces_and_unicode(tmp_path: Path, patch: Patch) -> None:
    root = make_repository(make_tree(tmp_path / "ein Baum ä 树", patch, fixed=False, declares=SITU))
    apply(patch, root)
    assert (root / MODEL).read_bytes() == model_file(patch, fixed=True)


def test_a_linked_root_is_the_tree_it_points_to(tree: Path, patch: Patch) -> None:
    link = tree.parent / "link"
    link.symlink_to(tree)
    apply(patch, link)
    assert (tree / MODEL).read_bytes() == model_file(patch, fixed=True)


def test_a_file_that_is_a_link_out_of_the_tree_is_not_written_through(
    broken_tree: Path, patch: Patch
) -> None:
    outside = broken_tree.parent / "package-cache.py"
    (broken_tree / MODEL).rename(outside)
    (broken_tree / MODEL).symlink_to(outside)
    before = outside.read_bytes()
    with pytest.raises((Refused, InputError)):
        apply(patch, broken_tree)
    assert outside.read_bytes() == before


def test_an_interrupted_run_is_settled_by_the_next(broken_tree: Path, patch: Patch) -> None:
    (broken_tree / ".pinproof-journal").write_bytes(b'{"state":"preparing","entries":[]}')
    assert settle_tree(open_tree(broken_tree)) == "rolled back an interrupted run"
    apply(patch, broken_tree)
    assert not (broken_tree / ".pinproof-journal").exists()


def test_dry_run_shows_the_diff(broken_tree: Path, patch: Patch) -> None:
    tree = open_tree(broken_tree)
    shown = unified_diff(plan_apply([patch], tree, named=True), tree)
    assert "-            activation_beta=self.activation_beta,\n+" not in shown  # both removals come first
    assert "+            situ_beta=self.activation_beta,\n" in shown
    assert (broken_tree / MODEL).read_bytes() == model_file(patch, fixed=False)


def test_no_permission_changes_nothing(broken_tree: Path, patch: Patch) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    folder = (broken_tree / MODEL).parent
    folder.chmod(0o500)
    try:
        with pytest.raises(OSError, match="denied"):
            apply(patch, broken_tree)
        assert (broken_tree / MODEL).read_bytes() == model_file(patch, fixed=False)
    finally:
        folder.chmod(0o700)


def test_a_wrong_library_in_the_tree_makes_the_applied_patch_a_conflict(tmp_path: Path, patch: Patch) -> None:
    root = make_tree(tmp_path / "tree", patch, fixed=True, declares=SITU)
    vendor_library(root / "vllm/third_party/deep_gemm", FORK)
    with pytest.raises(Conflict, match="is in the text already"):
        apply(patch, root)


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=200).filter(lambda b: b"\r" not in b), st.integers(0, 40))
def test_whatever_stands_around_the_hunk_revert_gives_it_back(tail: bytes, shift: int) -> None:
    patch = find_patch("0001")
    tail_comment = b"".join(b"# " + line.hex().encode() + b"\n" for line in tail.split(b"\n"))
    with tempfile.TemporaryDirectory() as name:
        root = make_tree(Path(name) / "t", patch, fixed=False, declares=SITU)
        model = root / MODEL
        before = b"# shifted\n" * shift + model.read_bytes() + tail_comment
        model.write_bytes(before)
        apply(patch, root)
        assert b"situ_beta=self.activation_beta" in model.read_bytes()
        revert(patch, root)
        assert model.read_bytes() == before
