"""An option that a page shows and the command does not have is a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_pictures import load

REPO = Path(__file__).resolve().parents[2]
check_docs = load("check_docs")


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("pinproof contract . --with flashinfer-python==0.7.4", 0),
        ("pinproof contract . --whith flashinfer-python==0.7.4", 1),
        ("$ pinproof history a.b --svg x.svg --releases 1..2", 0),
        ("pinproof report -o site", 0),
        ("pinproof report -x site", 1),
        ("pinproof verdict --release 0.28.0 | grep --colour needed", 0),
        ("./tools/contract.sh TREE --no-such-thing", 1),
        ("pinproof no-such-command", 1),
        ("tools/test.sh --any-pytest-option", 0),
        ("pinproof verdict --release vllm==0.31.0 --offline", 0),
    ],
)
def test_options_are_the_commands_own(line: str, faults: int) -> None:
    assert len(list(check_docs._command_problems(line, REPO))) == faults
