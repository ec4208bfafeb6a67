"""The history of the real callee over nine real releases: its columns, its cells, and the one break."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from pinproof.cli import main
from pinproof.history.model import History
from pinproof.history.story import changes, state

CALLEE = "deep_gemm.fp8_fp4_mega_moe"
COMMAND = ["history", CALLEE, "--releases", "0.26.0..0.33.0", "--json"]

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def found() -> History:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = main(COMMAND)
    if status == 5:
        pytest.skip("needs the package index")
    assert status == 0
    return msgspec.convert(json.loads(out.getvalue()), History)


def test_only_the_release_without_the_fix_breaks(found: History) -> None:
    assert [(column.label, len(column.broken)) for column in found.columns] == [
        ("0.26.0", 0), ("0.27.0", 0), ("0.27.1", 0), ("0.28.0 − 0001", 1), ("0.28.0", 0),  # noqa: RUF001
        ("0.29.0", 0), ("0.30.0", 0), ("0.31.0", 0), ("0.32.0", 0), ("0.33.0", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("activation_beta", "none passed passed breaks none none passed passed passed passed"),
        ("activation_linear_beta", "none passed passed breaks none none none none none none"),
        ("situ_beta", "none none none declared passed passed none none none none"),
        ("activation_alpha", "none none none none none none passed passed passed passed"),
        ("fast_math", "passed " * 10),
    ],
)
def test_each_parameter_is_what_the_wheels_say(found: History, name: str, expected: str) -> None:
    assert [state(column, name) for column in found.columns] == expected.split()


def test_the_break_is_told_with_its_line(found: History) -> None:
    told = [line for line in changes(found) if "breaks" in line]
    assert len(told) == 1
    assert re.search(r"kimi_k3/nvidia/model\.py:482 breaks: passes activation_beta", told[0])
