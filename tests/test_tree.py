"""A tree is found where it is, and never read outside of."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import InputError
from pinproof.tree import DiskFiles, check_relative, open_tree


def make_package(root: Path) -> Path:
    (root / "vllm").mkdir(parents=True)
    (root / "vllm" / "__init__.py").write_text("")
    return root


def test_a_plain_folder_with_the_package_is_a_tree(tmp_path: Path) -> None:
    tree = open_tree(make_package(tmp_path))
    assert (tree.kind, tree.root) == ("plain", tmp_path)


def test_the_package_folder_itself_names_its_tree(tmp_path: Path) -> None:
    make_package(tmp_path)
    assert open_tree(tmp_path / "vllm").disk_root() == tmp_path


def test_a_dist_info_beside_the_package_makes_it_installed_and_gives_the_version(
    tmp_path: Path,
) -> None:
    make_package(tmp_path)
    info = tmp_path / "vllm-0.28.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: vllm\nVersion: 0.28.0\n")
    tree = open_tree(tmp_path)
    assert (tree.kind, tree.version) == ("installed", "0.28.0")


def test_a_folder_without_the_package_is_refused_with_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a vllm tree") as caught:
        open_tree(tmp_path)
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/passwd", "a/../../b", ".git/config", "a/.GIT/x", "a\\b", "C:x", "", "a\0b"],
)
def test_a_path_that_could_leave_the_tree_is_unsafe(path: str) -> None:
    with pytest.raises(InputError, match="unsafe path"):
        check_relative(path)


def test_a_link_out_of_the_tree_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("s")
    root = make_package(tmp_path / "tree")
    (root / "vllm" / "link.py").symlink_to(outside)
    assert DiskFiles(root).read("vllm/link.py") is None


@pytest.mark.parametrize("layout", ["python", "src"])
def test_a_checkout_that_keeps_its_package_one_folder_down_is_a_tree(tmp_path: Path, layout: str) -> None:
    package = tmp_path / layout / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    tree = open_tree(tmp_path, package="sglang")
    assert tree.root == tmp_path / layout
    assert tree.read("sglang/__init__.py") == b""
