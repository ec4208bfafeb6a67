from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pinproof.cli import main

from tests.conftest import REPO

PATCHES = ["--patches", str(REPO / "patches/vllm")]


def test_json_holds_the_gate_and_its_record(broken_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        ["smoke", "0001", str(broken_tree), *PATCHES, "--python", sys.executable, "--rung", "bind", "--json"]
    )
    printed = json.loads(capsys.readouterr().out)
    assert code == 5
    assert printed["schema"] == "pinproof.smoke/1"
    assert printed["gate"]["details"]["rungs"][0]["outcome"] == "skip"
    assert printed["gate"]["details"]["sm100_numerics"] == "not run"


def test_every_output_says_that_sm100_was_not_run(
    broken_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["smoke", "0001", str(broken_tree), *PATCHES, "--python", sys.executable, "--rung", "kernel"])
    out = capsys.readouterr().out
    assert "SM100 numerics: not run" in out
    assert "the interpreter has no torch" in out


def test_a_missing_interpreter_is_one_line_with_the_way_out(
    broken_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["smoke", str(broken_tree), *PATCHES, "--python", "/no/such/python"]) == 2
    err = capsys.readouterr().err
    assert "no such interpreter: /no/such/python" in err
    assert "Traceback" not in err


def test_a_program_that_is_no_python_is_told(broken_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", str(broken_tree), *PATCHES, "--python", "/bin/false"]) == 5
    assert "/bin/false cannot run the probe" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-2"])
def test_a_number_of_gpus_must_be_positive(
    broken_tree: Path, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    assert main(["smoke", str(broken_tree), *PATCHES, "--nproc", number]) == 2
    assert "is no number of GPUs" in capsys.readouterr().err


def test_help_names_the_rungs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["smoke", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    for word in ("bind", "compile", "kernel", "model", "--nproc", "--python", "--timeout"):
        assert word in out
