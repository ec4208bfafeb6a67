"""Where the import packages of a project are, whatever it is built with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.layout import Layout, find


@pytest.mark.parametrize(
    ("paths", "name", "layout"),
    [
        (["a/__init__.py", "a/x.py"], "a", Layout("", ("a",))),
        (["src/a/__init__.py", "tests/__init__.py", "setup.py"], "a", Layout("src", ("a",))),
        (["python/ray/__init__.py"], "ray", Layout("python", ("ray",))),
        (["b/__init__.py", "a/__init__.py"], "b", Layout("", ("b", "a"))),
        (["q-1.0.data/purelib/q/__init__.py"], "q", Layout("q-1.0.data/purelib", ("q",))),
        (["dynamo/vllm/main.py"], "ai_dynamo", Layout("", ("dynamo",))),
        (["setup.py", "tests/test_a.py"], "a", Layout("", ())),
    ],
    ids=["flat", "src", "python", "its-own-name-first", "wheel-data", "namespace", "none"],
)
def test_each_layout_is_found(paths: list[str], name: str, layout: Layout) -> None:
    assert find(paths, name) == layout


@given(st.lists(st.text("ab/._py-", max_size=12)))
def test_any_paths_give_packages_that_are_identifiers(paths: list[str]) -> None:
    assert all(package.isidentifier() for package in find(paths, "a").packages)
