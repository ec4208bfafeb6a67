"""A full name leads to the one signature behind it, through re-exports, classes and methods."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.contract.declared.library import Library
from pinproof.contract.declared.snapshot import take
from pinproof.errors import InputError
from pinproof.history.lookup import NotDeclared, declared, near, watched_for
from pinproof.tree import DiskFiles

from tests.contract.small import write

SOURCE = {
    "deep_gemm/__init__.py": "from .mega import run, Plan\nfrom torch import tensor\nLIMIT = 3\n",
    "deep_gemm/mega.py": """
        def run(x, *, scale=None): pass
        class Plan:
            def __init__(self, size): pass
            def go(self, x, fast=True): pass
            @staticmethod
            def make(kind): pass
    """,
}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    files = DiskFiles(write(tmp_path, SOURCE))
    return Library(
        take(files, {"deep_gemm": "deep_gemm"}, library="deep_gemm", version="1", source="here"), "l 1"
    )


@pytest.mark.parametrize(
    ("callee", "names"),
    [
        ("deep_gemm.run", ("x", "scale")),
        ("deep_gemm.mega.run", ("x", "scale")),
        ("deep_gemm.Plan", ("size",)),
        ("deep_gemm.Plan.go", ("x", "fast")),
        ("deep_gemm.Plan.make", ("kind",)),
    ],
)
def test_a_name_leads_to_its_parameters_without_self(
    library: Library, callee: str, names: tuple[str, ...]
) -> None:
    assert tuple(p.name for p in declared(library, callee).parameters) == names


@pytest.mark.parametrize(
    "callee",
    ["deep_gemm.gone", "deep_gemm.LIMIT", "deep_gemm.LIMIT.x", "deep_gemm.Plan.gone", "deep_gemm.tensor"],
)
def test_what_has_no_signature_says_why(library: Library, callee: str) -> None:
    with pytest.raises(NotDeclared, match=r"\S"):
        declared(library, callee)


def test_a_misspelt_name_brings_the_nearest(library: Library) -> None:
    assert near(library, "deep_gemm.rum")[0] == "deep_gemm.run"


@pytest.mark.parametrize(
    ("callee", "message"),
    [
        ("deepgemm.run", "did you mean 'deep_gemm'"),
        ("deep_gemm", "not a full name"),
        ("deep_gemm.", "not a full name"),
        ("../../etc.passwd", "not a full name"),
    ],
)
def test_an_unknown_library_is_refused_by_name(callee: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        watched_for(callee)
