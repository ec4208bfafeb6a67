"""`pinproof contract .` finds the engine, or the project that is built on one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import InputError
from pinproof.opening import open_any


def write(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


def test_an_engine_comes_before_a_project(tmp_path: Path) -> None:
    tree = open_any(write(tmp_path, "vllm/__init__.py", "other/__init__.py", "pyproject.toml"))
    assert tree.package == "vllm"


def test_a_plugin_is_a_tree_with_all_its_packages(tmp_path: Path) -> None:
    tree = open_any(write(tmp_path, "a/__init__.py", "b/__init__.py", "tests/__init__.py", "pyproject.toml"))
    assert (tree.packages, tree.root) == (("a", "b"), tmp_path)


def test_packages_below_src_keep_the_files_of_the_project_at_hand(tmp_path: Path) -> None:
    tree = open_any(write(tmp_path, "src/a/__init__.py", "pyproject.toml"))
    assert (tree.root, tree.read("a/__init__.py")) == (tmp_path / "src", b"")
    assert tree.project_files.read("pyproject.toml") == b""


@pytest.mark.parametrize("layout", ["", "src/"])
def test_the_package_folder_names_its_project(tmp_path: Path, layout: str) -> None:
    write(tmp_path, f"{layout}a/__init__.py", "pyproject.toml")
    tree = open_any(tmp_path / layout / "a")
    assert (tree.package, tree.project_files.read("pyproject.toml")) == ("a", b"")


def test_what_holds_no_package_is_refused_with_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no other import package") as caught:
        open_any(write(tmp_path, "pyproject.toml"))
    assert "pyproject.toml" in (caught.value.hint or "")


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_any(tmp_path / "none")
