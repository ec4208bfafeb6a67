"""The pre-commit hook: a commit that only moves a pin has the whole tree checked, against the old pin too."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from pinproof.cli import main
from pinproof.pins.places import pin_files

from tests.conftest import REPO
from tests.contract.small import write

PIN = "cmake/external_projects/deepgemm.cmake"
OLD, NEW = "8b1392b978f5a03c828dd1711090d7fb50958b8a", "0820030756945b2daec208e8e8255268360f337d"
CALL = "import deep_gemm\ndeep_gemm.fp8_fp4_mega_moe(1, 2, 3, 4, situ_beta=1.0, situ_linear_beta=2.0)\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write(tmp_path / "t", {"vllm/__init__.py": "", "vllm/m.py": CALL, "README.md": "x", PIN: pin(OLD)})
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    monkeypatch.chdir(root)
    return root


def pin(commit: str) -> str:
    return f"  GIT_REPOSITORY https://github.com/deepseek-ai/DeepGEMM\n  GIT_TAG {commit}\n"


def test_a_commit_that_only_moves_a_pin_says_from_where_to_where_and_what_breaks(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", ".", "--hook", PIN]) == 0
    (tree / PIN).write_text(pin(NEW))
    assert main(["contract", ".", "--hook", PIN]) == 1
    shown = capsys.readouterr()
    assert "vllm/m.py:2:1: KC101 deep_gemm.fp8_fp4_mega_moe() takes no keyword 'situ_beta'" in shown.out
    assert f"deep_gemm moved from {OLD} to {NEW} ({PIN}:2), breaks 1 call" in shown.err


def test_a_commit_of_python_has_these_files_checked(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", ".", "--hook", "vllm/m.py"]) == 0
    assert "1 files, 1 uses" in capsys.readouterr().out


def test_a_commit_without_python_or_pins_is_nothing_to_check(tree: Path) -> None:
    assert main(["contract", ".", "--hook", "README.md"]) == 0


def test_the_hook_is_triggered_by_every_file_that_pins() -> None:
    hooks = yaml.safe_load((REPO / ".pre-commit-hooks.yaml").read_text())
    hook = next(hook for hook in hooks if hook["id"] == "kernel-contract")
    for engine in ("vllm", "sglang"):
        for glob in pin_files(engine):
            assert re.search(hook["files"], glob.replace("*", "some")), glob
