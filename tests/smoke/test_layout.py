from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pinproof.errors import CannotCheck, InputError
from pinproof.smoke.layout import is_compiled, lay
from pinproof.smoke.probes.kimi_k3_megamoe.library import wrapper_files
from pinproof.tree import Tree, open_tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A source tree without a build: vllm/a.py and vllm/__init__.py."""
    root = tmp_path / "source"
    (root / "vllm").mkdir(parents=True)
    (root / "vllm/__init__.py").write_text("")
    (root / "vllm/a.py").write_text("value = 'tree'\n")
    return open_tree(root)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """An installed vLLM with an extension, a vendored package, and its own a.py."""
    root = tmp_path / "site"
    (root / "vllm/third_party/deep_gemm").mkdir(parents=True)
    for name in ("__init__.py", "_C.abi3.so", "third_party/__init__.py", "third_party/deep_gemm/__init__.py"):
        (root / "vllm" / name).write_text("")
    (root / "vllm/a.py").write_text("value = 'built'\n")
    (root / "vllm-1.0.dist-info").mkdir()
    (root / "vllm-1.0.dist-info/METADATA").write_text("Name: vllm\n")
    return root


def value_of(dest: Path) -> str:
    code = "import vllm.a; print(vllm.a.value)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(dest)}, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_the_trees_files_win_over_the_built_ones_and_the_rest_shows_through(
    tmp_path: Path, tree: Tree, built: Path
) -> None:
    lay(tmp_path / "out", tree, below=built)
    assert value_of(tmp_path / "out") == "tree"
    assert is_compiled(tmp_path / "out")
    assert (tmp_path / "out/vllm/third_party/deep_gemm/__init__.py").exists()
    assert (tmp_path / "out/vllm-1.0.dist-info/METADATA").exists()


def test_changes_in_memory_are_laid_out_and_the_tree_stays_as_it_was(tmp_path: Path, tree: Tree) -> None:
    changed = tree.with_changes({"vllm/a.py": b"value = 'patched'\n"})
    lay(tmp_path / "out", changed)
    assert value_of(tmp_path / "out") == "patched"
    assert tree.read("vllm/a.py") == b"value = 'tree'\n"


def test_importing_leaves_no_bytecode_in_the_tree(tmp_path: Path, tree: Tree) -> None:
    lay(tmp_path / "out", tree)
    value_of(tmp_path / "out")
    assert (tmp_path / "out/vllm/__pycache__").exists()
    assert not (tree.disk_root() / "vllm/__pycache__").exists()


def test_laying_again_keeps_the_bytecode_but_never_a_stale_one(tmp_path: Path, tree: Tree) -> None:
    out = tmp_path / "out"
    for value in (b"patch1", b"patch2", b"patch3"):
        lay(out, tree.with_changes({"vllm/a.py": b"value = '%s'\n" % value}))
        assert value_of(out) == value.decode()
    lay(out, tree)
    assert value_of(out) == "tree"
    assert list((out / "vllm/__pycache__").glob("__init__.*.pyc"))


def test_a_file_that_left_the_tree_is_gone_from_the_layout(tmp_path: Path, tree: Tree) -> None:
    out = tmp_path / "out"
    lay(out, tree)
    (tree.disk_root() / "vllm/a.py").unlink()
    lay(out, tree)
    assert not (out / "vllm/a.py").exists()


def test_a_change_outside_the_tree_is_refused(tmp_path: Path, tree: Tree) -> None:
    hostile = tree.with_changes({"../evil.py": b"x"})
    with pytest.raises(InputError, match="unsafe path"):
        lay(tmp_path / "out", hostile)
    assert not (tmp_path / "evil.py").exists()


def test_a_tree_that_vendors_the_wrapper_needs_no_other(tree: Tree) -> None:
    holding = tree.with_changes({"vllm/third_party/deep_gemm/__init__.py": b""})
    assert wrapper_files(holding) == {}


def test_a_tree_that_says_no_release_cannot_be_given_a_wrapper(tree: Tree) -> None:
    with pytest.raises(CannotCheck, match="does not say which release it is"):
        wrapper_files(tree)
