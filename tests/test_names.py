"""Names that some file system takes for .git, or that pinproof keeps for itself, are nobody's to use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.names import is_reserved, is_safe


@pytest.mark.parametrize("part", [
    ".git", ".GIT", ".giT", ".git ", ".git.", ".git. . ", ".git::$INDEX_ALLOCATION", ".git:x", "git~1",
    "GIT~4",    ".g\u200cit", "\u200d.git", ".git\ufeff", "\u2060.GIT", ".gi\u00adt", "\uff0egit",
    ".pinproof-journal", "..pinproof-journal.abc.tmp", ".a.py.pinproof-new", ".A.PY.PINPROOF-NEW",
])  # fmt: skip
def test_a_reserved_name_is_refused_at_any_depth(part: str) -> None:
    assert is_reserved(part)
    assert not is_safe(part)
    assert not is_safe(f"vllm/{part}")
    assert not is_safe(f"vllm/{part}/hooks/post-checkout")


@pytest.mark.parametrize(
    "part", [".github", ".gitignore", ".gitattributes", "git", "a.git", "git~x", "pinproof", ".pinproof.toml"]
)
def test_names_that_only_look_alike_are_free(part: str) -> None:
    assert not is_reserved(part)
    assert is_safe(f"vllm/{part}")


@pytest.mark.parametrize(
    "path", ["", ".", "/a", "../a", "a/../b", "a//b", "./a", "a/./b", "a/", "a\\b", "a\0b", "C:/a", "c:a"]
)
def test_a_path_has_one_spelling_inside_the_tree(path: str) -> None:
    assert not is_safe(path)


@given(st.text(max_size=30))
def test_a_safe_path_joined_to_a_folder_stays_below_it(path: str) -> None:
    from pathlib import PurePosixPath

    if is_safe(path):
        assert str(PurePosixPath("/root", path)) == f"/root/{path}"
        assert ".." not in path.split("/")
