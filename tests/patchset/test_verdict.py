"""Every verdict, each from the state of a tree that calls for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.verdict import judge
from pinproof.tree import open_tree

from tests.trees import FORK, MODEL, SITU, make_tree

LATER = ("activation_alpha", "activation_beta")


@pytest.mark.parametrize(
    ("fixed", "declares", "expected", "says"),
    [
        (False, SITU, "needed", "passes activation_beta, activation_linear_beta"),
        (True, SITU, "applied", "the contract holds with the patch in"),
        (False, FORK, "not-needed", "applying it would break a working tree (unexpected situ_beta"),
        (True, FORK, "conflict", "is in the text already"),
        (False, LATER, "conflict", "stays broken with the patch"),
    ],
)
def test_content_and_contract_together_give_the_verdict(
    tmp_path: Path, patch: Patch, fixed: bool, declares: tuple[str, ...], expected: str, says: str
) -> None:
    root = make_tree(tmp_path / "tree", patch, fixed=fixed, declares=declares)
    verdict = judge(patch, open_tree(root))
    assert verdict.verdict == expected
    assert says in verdict.sentence


def test_the_sentence_names_the_signatures_source_and_the_deciding_keywords(
    broken_tree: Path, patch: Patch
) -> None:
    verdict = judge(patch, open_tree(broken_tree))
    assert verdict.passes == ("activation_beta", "activation_linear_beta")
    assert verdict.declares == SITU
    assert "vllm/third_party/deep_gemm" in (verdict.source or "")
    assert all(part in verdict.sentence for part in str(verdict.source).split(", "))


def test_a_rewritten_call_that_holds_makes_the_patch_obsolete(tmp_path: Path, patch: Patch) -> None:
    root = make_tree(tmp_path / "tree", patch, fixed=False, declares=LATER)
    model = root / MODEL
    text = model.read_bytes().replace(b"activation_beta=", b"activation_alpha=")
    model.write_bytes(text.replace(b"activation_linear_beta=", b"activation_beta="))
    assert judge(patch, open_tree(root)).verdict == "obsolete"


def test_a_call_that_moved_to_another_file_and_holds_makes_it_obsolete(tmp_path: Path, patch: Patch) -> None:
    root = make_tree(tmp_path / "tree", patch, fixed=True, declares=SITU)
    (root / MODEL).rename(root / "vllm/moved.py")
    (root / MODEL).write_bytes(b"# the call lives elsewhere\n")
    verdict = judge(patch, open_tree(root))
    assert (verdict.verdict, verdict.calls[0].file) == ("obsolete", "vllm/moved.py")


def test_a_tree_without_the_file_has_no_use_for_the_patch(broken_tree: Path, patch: Patch) -> None:
    (broken_tree / MODEL).unlink()
    assert judge(patch, open_tree(broken_tree)).verdict == "absent"


def test_without_a_signature_nothing_decides(broken_tree: Path, patch: Patch) -> None:
    import shutil

    shutil.rmtree(broken_tree / "vllm/third_party")
    verdict = judge(patch, open_tree(broken_tree))
    assert verdict.verdict == "unknown"


def test_a_library_given_by_hand_decides(broken_tree: Path, patch: Patch) -> None:
    from tests.trees import vendor_library

    other = broken_tree.parent / "clone" / "deep_gemm"
    vendor_library(other, FORK)
    assert judge(patch, open_tree(broken_tree), {"deep_gemm": str(other)}).verdict == "not-needed"
