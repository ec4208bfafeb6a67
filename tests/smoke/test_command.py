from __future__ import annotations

import json
import shutil
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.patchset.change import contents_after
from pinproof.patchset.patchfile import Patch
from pinproof.submit.store import load_evidence, open_store
from pinproof.tree import open_tree

from tests.conftest import REPO

PYTHON = ["--python", sys.executable]


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A copy of the series without its records."""
    folder = tmp_path / "patches"
    shutil.copytree(REPO / "patches/vllm", folder, ignore=shutil.ignore_patterns("evidence"))
    return folder


@pytest.fixture
def fixed_tree(broken_tree: Path, patch: Patch) -> Path:
    """The tree with the patch in it."""
    for path, data in contents_after(open_tree(broken_tree), patch).items():
        (broken_tree / path).write_bytes(data or b"")
    return broken_tree


def test_a_run_on_a_tree_with_the_patch_is_recorded_beside_it(
    fixed_tree: Path, series: Path, patch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["smoke", "0001", str(fixed_tree), "--patches", str(series), *PYTHON, "--rung", "bind"])
    assert "recorded" in capsys.readouterr().err
    made = load_evidence(open_store(series), patch, "smoke", datetime.now(timezone.utc))
    assert made is not None
    assert made.outcome == "skip"
    assert made.details["sm100_numerics"] == "not run"


def test_a_run_on_a_tree_without_the_patch_is_no_evidence_for_it(
    broken_tree: Path, series: Path, patch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["smoke", "0001", str(broken_tree), "--patches", str(series), *PYTHON, "--rung", "bind"])
    assert "not recorded" in capsys.readouterr().err
    assert load_evidence(open_store(series), patch, "smoke", datetime.now(timezone.utc)) is None


def test_json_holds_the_gate_and_its_record(broken_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        [
            "smoke",
            "0001",
            str(broken_tree),
            "--patches",
            str(REPO / "patches/vllm"),
            "--python",
            sys.executable,
            "--rung",
            "bind",
            "--json",
        ]
    )
    printed = json.loads(capsys.readouterr().out)
    assert code == 5
    assert printed["schema"] == "pinproof.smoke/2"
    assert printed["gate"]["details"]["rungs"][0]["outcome"] == "skip"
    assert printed["gate"]["details"]["sm100_numerics"] == "not run"


def test_every_output_says_that_sm100_was_not_run(
    broken_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(
        [
            "smoke",
            "0001",
            str(broken_tree),
            "--patches",
            str(REPO / "patches/vllm"),
            "--python",
            sys.executable,
            "--rung",
            "kernel",
        ]
    )
    out = capsys.readouterr().out
    assert "SM100 numerics: not run" in out
    assert "the interpreter has no torch" in out


def test_a_missing_interpreter_is_one_line_with_the_way_out(
    broken_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "smoke",
                str(broken_tree),
                "--patches",
                str(REPO / "patches/vllm"),
                "--python",
                "/no/such/python",
            ]
        )
        == 2
    )
    err = capsys.readouterr().err
    assert "no such interpreter: /no/such/python" in err
    assert "Traceback" not in err


def test_a_program_that_is_no_python_is_told(broken_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["smoke", str(broken_tree), "--patches", str(REPO / "patches/vllm"), "--python", "/bin/false"])
        == 5
    )
    assert "/bin/false cannot be asked what it has" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-2"])
def test_a_number_of_gpus_must_be_positive(
    broken_tree: Path, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    assert main(["smoke", str(broken_tree), "--patches", str(REPO / "patches/vllm"), "--nproc", number]) == 2
    assert "is not a number of GPUs" in capsys.readouterr().err


def test_help_names_the_rungs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["smoke", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    for word in ("bind", "compile", "kernel", "model", "--nproc", "--python", "--timeout"):
        assert word in out
