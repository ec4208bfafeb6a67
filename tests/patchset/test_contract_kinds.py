"""`Contract:` states every kind of drift; without one, what vanishes decides; zero calls are no pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import InputError
from pinproof.mainjob import contract_result
from pinproof.patchset.contracts import KINDS, contracts_of, no_contract
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.verdict import Verdict, judge
from pinproof.tree import Tree, open_tree

from tests.gates.patches import make_patch

FILE = "vllm/ops.py"
LIBRARY = """
def gemm(a, b, *, out=None, swap_ab): ...
def pack(x, mask): ...
class Cache:
    def new_buffer(self): ...
def new_buffer(n): ...
"""
HEAD = "from quack import ops\n\n\ndef go(x, m):\n    return "
# kind: the call before, the call after, what its Contract: field says
CASES = {
    "unexpected-keyword": ("ops.gemm(x, m, swap_ab=1, dest=x)", "ops.gemm(x, m, swap_ab=1, out=x)",
                           "quack.ops.gemm out"),
    "missing-required": ("ops.gemm(x, m)", "ops.gemm(x, m, swap_ab=False)",
                         "quack.ops.gemm missing-required swap_ab"),
    "too-many-positional": ("ops.pack(x, m, 3)", "ops.pack(x, m)", "quack.ops.pack too-many-positional"),
    "missing-attribute": ("ops.old_buffer(3)", "ops.new_buffer(3)",
                          "quack.ops.new_buffer missing-attribute quack.ops.old_buffer"),
}  # fmt: skip
SAYS = {
    "unexpected-keyword": "passes dest; quack",
    "missing-required": "leaves out swap_ab, which quack",
    "too-many-positional": "too many arguments by position to quack.ops.pack",
    "missing-attribute": "uses quack.ops.old_buffer, which quack quack does not have",
}


def world(
    tmp_path: Path, before: str, after: str, contract: str | None
) -> tuple[Patch, Tree, dict[str, str]]:
    """A patch of one call, a tree without it, and the library to hold it against."""
    old, new = f"{HEAD}{before}\n".encode(), f"{HEAD}{after}\n".encode()
    field = f"Contract: {contract}\n" if contract else ""
    patch = make_patch({FILE: old}, {FILE: new}, f"[Bugfix] Test\n\nwhy it is\n\nOrigin: other, x\n{field}")
    lib = tmp_path / "lib/quack"
    lib.mkdir(parents=True)
    (lib / "__init__.py").write_text("")
    (lib / "ops.py").write_text(LIBRARY)
    root = tmp_path / "tree"
    (root / "vllm").mkdir(parents=True)
    (root / "vllm/__init__.py").write_text("")
    (root / FILE).write_bytes(old)
    return patch, open_tree(root), {"quack": str(lib)}


def both_sides(patch: Patch, tree: Tree, libraries: dict[str, str]) -> tuple[Verdict, Verdict]:
    from pinproof.patchset.change import contents_after

    return judge(patch, tree, libraries), judge(
        patch, tree.with_changes(contents_after(tree, patch)), libraries
    )


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("kind", CASES)
def test_each_kind_is_needed_before_and_applied_after_and_told_in_its_own_words(
    tmp_path: Path, kind: str, stated: bool
) -> None:
    before, after, contract = CASES[kind]
    patch, tree, libraries = world(tmp_path, before, after, f"{FILE} {contract}" if stated else None)
    first, then = both_sides(patch, tree, libraries)
    assert (first.verdict, then.verdict) == ("needed", "applied"), (first.sentence, then.sentence)
    assert first.basis == then.basis == ("stated" if stated else "derived")
    assert SAYS[kind] in first.sentence
    result = contract_result(first, then, 0.0)
    assert (result.outcome, result.summary) == (
        "pass", "without it: needed; 1 of 1 call of the patch bind to the pinned signature",
    )  # fmt: skip


def test_a_module_that_moved_can_be_stated(tmp_path: Path) -> None:
    contract = f"{FILE} quack.ops.pack missing-module quack.gone"
    patch, tree, libraries = world(tmp_path, "0", "1", contract)
    old = b"from quack.gone import pack\n\n\npack(1, 2)\n"
    new = old.replace(b"quack.gone", b"quack.ops")
    message = f"[Bugfix] Test\n\nwhy\n\nOrigin: other, x\nContract: {contract}\n"
    patch = make_patch({FILE: old}, {FILE: new}, message)
    (tree.disk_root() / FILE).write_bytes(old)
    first, then = both_sides(patch, tree, libraries)
    assert (first.verdict, then.verdict) == ("needed", "applied"), (first.sentence, then.sentence)
    assert "imports quack.gone, which quack quack does not have" in first.sentence


@pytest.mark.parametrize("stated", [True, False])
def test_a_patch_that_drops_the_call_proves_nothing(tmp_path: Path, stated: bool) -> None:
    before, _, contract = CASES["missing-required"]
    patch, tree, libraries = world(tmp_path, before, "x", f"{FILE} {contract}" if stated else None)
    first, then = both_sides(patch, tree, libraries)
    assert first.verdict == ("conflict" if stated else "unknown"), first.sentence
    assert contract_result(first, then, 0.0).outcome == "skip"


def test_a_patch_that_mends_with_other_keywords_than_it_states_does_not_keep_its_contract(
    tmp_path: Path,
) -> None:
    before, after, _ = CASES["unexpected-keyword"]
    patch, tree, libraries = world(tmp_path, before, after, f"{FILE} quack.ops.gemm out,stream")
    first, then = both_sides(patch, tree, libraries)
    assert (first.verdict, then.verdict) == ("conflict", "unknown")
    assert "no call does what its contract states" in first.sentence


def test_a_patch_without_a_contract_that_mends_no_call_is_unknown_and_no_pass(tmp_path: Path) -> None:
    patch, tree, libraries = world(tmp_path, "ops.pack(x, m)", "ops.pack(x, m)  # why", None)
    first, then = both_sides(patch, tree, libraries)
    assert first.verdict == then.verdict == "unknown"
    assert "no finding vanishes with it" in first.sentence
    assert contract_result(first, then, 0.0).outcome == "skip"


def test_a_patch_without_a_contract_that_breaks_a_call_is_not_needed(tmp_path: Path) -> None:
    patch, tree, libraries = world(tmp_path, "ops.pack(x, m)", "ops.pack(x, m, 3)", None)
    first, then = both_sides(patch, tree, libraries)
    assert (first.verdict, then.verdict) == ("not-needed", "conflict")


def test_a_patch_that_says_it_is_about_no_call_goes_by_its_text_and_its_contract_is_not_passed(
    tmp_path: Path,
) -> None:
    patch, tree, libraries = world(tmp_path, "1", "2", "none, it changes a constant only")
    assert contracts_of(patch) == ()
    assert no_contract(patch) == "it changes a constant only"
    first, then = both_sides(patch, tree, libraries)
    assert (first.verdict, then.verdict) == ("needed", "applied")
    assert contract_result(first, then, 0.0).outcome == "skip"


def test_a_contract_about_another_call_than_the_patch_changes_is_unknown(tmp_path: Path) -> None:
    patch, tree, libraries = world(
        tmp_path, "ops.pack(x, m)", "ops.pack(x, m, *[])", f"{FILE} quack.ops.typo a"
    )
    first, then = both_sides(patch, tree, libraries)
    assert first.verdict == then.verdict == "unknown"
    assert "zero calls prove nothing" in first.sentence
    assert contract_result(first, then, 0.0).outcome == "skip"


def test_a_call_that_cannot_be_decided_is_no_pass(tmp_path: Path) -> None:
    before, after, contract = CASES["missing-required"]
    patch, tree, libraries = world(tmp_path, before, after, f"{FILE} {contract}")
    (Path(libraries["quack"]) / "ops.py").write_text("import x\n\n@x.unknown\ndef gemm(a, b): ...\n")
    first, then = both_sides(patch, tree, libraries)
    assert first.verdict == then.verdict == "unknown"
    assert contract_result(first, then, 0.0).outcome == "skip"


def test_a_long_list_of_keywords_shows_those_that_decide(tmp_path: Path) -> None:
    many = ", ".join(f"k{n}=0" for n in range(30))
    parameters = ", ".join(f"k{n}=0" for n in range(30))
    before, after = f"ops.big({many}, dest=x)", f"ops.big({many}, out=x)"
    patch, tree, libraries = world(tmp_path, before, after, f"{FILE} quack.ops.big out")
    (Path(libraries["quack"]) / "ops.py").write_text(f"def big(*, {parameters}, out): ...\n")
    first, _ = both_sides(patch, tree, libraries)
    assert first.verdict == "needed"
    assert "dest" in first.sentence
    assert "out" in first.sentence
    assert first.sentence.count("k") < 20, first.sentence


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_drift_has_a_form(tmp_path: Path, kind: str) -> None:
    patch, _, _ = world(tmp_path, "1", "2", f"{FILE} quack.ops.gemm {kind} a.b")
    (contract,) = contracts_of(patch)
    assert contract.kind == kind
    assert contract.text() == f"{FILE} quack.ops.gemm {kind} a.b".replace(" unexpected-keyword", "")


@pytest.mark.parametrize(
    "value",
    ["none", "none, x", f"{FILE} quack.ops.gemm", f"{FILE} quack.ops.gemm missing-attribute", "a b c d e"],
)
def test_a_malformed_field_is_refused(tmp_path: Path, value: str) -> None:
    patch, _, _ = world(tmp_path, "1", "2", value)
    with pytest.raises(InputError, match="Contract:"):
        contracts_of(patch)
