from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.patchset.fields import field_problems
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.smoke.unprobed import without_probe
from pinproof.tree import open_tree

from tests.smoke.patches import patch_between
from tests.trees import MODEL


@pytest.fixture
def bare(patch: Patch) -> Patch:
    """The real patch without the field that names its probe."""
    return parse_patch(re.sub(rb"Probe: .*\n", b"", patch.raw), patch.name)


def test_a_patch_that_a_probe_would_fit_says_which(broken_tree: Path, bare: Patch) -> None:
    gate = without_probe(bare, open_tree(broken_tree))
    assert gate.outcome == "not-run"
    assert gate.clear == "put `Probe: kimi_k3_megamoe` into its header"
    assert "deep_gemm.fp8_fp4_mega_moe() in KimiK3MegaMoEExperts.forward" in str(gate.reason)


def test_a_patch_of_other_calls_names_them(broken_tree: Path) -> None:
    (broken_tree / "vllm/cli.py").write_text("def main():\n    run(2)\n")
    patch = patch_between("vllm/cli.py", "def main():\n    run(1)\n", "def main():\n    run(2)\n")
    gate = without_probe(patch, open_tree(broken_tree))
    assert gate.outcome == "not-run"
    assert "none exercises vllm/cli.py:2 (run() in main)" in str(gate.reason)
    assert "docs/probes.md" in str(gate.clear)


def test_a_patch_that_changes_no_call_says_that_no_run_would_prove_it(broken_tree: Path) -> None:
    (broken_tree / "vllm/cli.py").write_text("# new\nx = 1\n")
    gate = without_probe(
        patch_between("vllm/cli.py", "# old\nx = 1\n", "# new\nx = 1\n"), open_tree(broken_tree)
    )
    assert gate.outcome == "not-run"
    assert "changes no call" in gate.summary


def smoke(tree: Path, series: Path, patch: Patch, *more: str) -> int:
    """The command on a series that holds this patch alone."""
    series.mkdir(exist_ok=True)
    (series / patch.name).write_bytes(patch.raw)
    (series / "series").write_text(f"{patch.name}\n")
    return main(["smoke", patch.name, str(tree), "--patches", str(series), "--python", sys.executable, *more])


def test_the_command_ends_with_5_and_records_nothing(
    broken_tree: Path, bare: Patch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert smoke(broken_tree, tmp_path / "series", bare) == 5
    out = capsys.readouterr().out
    assert "not run: 0001-kimi-k3-megamoe-situ-kwargs.patch names no probe" in out
    assert "pass" not in out
    assert not (tmp_path / "series/evidence").exists()


def test_a_comment_in_another_file_is_refused_even_when_it_names_a_probe(
    broken_tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It passed once, and got a sealed record."""
    after = "# said again\ndef main():\n    run()\n"
    (broken_tree / "vllm/cli.py").write_text(after)
    patch = patch_between("vllm/cli.py", "def main():\n    run()\n", after, probe="kimi_k3_megamoe")
    assert smoke(broken_tree, tmp_path / "series", patch) == 3
    err = capsys.readouterr().err
    assert "probe kimi_k3_megamoe exercises nothing that 0009-a-test.patch changes" in err
    assert not (tmp_path / "series/evidence").exists()


def test_another_call_of_the_same_file_is_refused(broken_tree: Path, tmp_path: Path) -> None:
    before = (broken_tree / MODEL).read_text()
    after = before + "\n\ndef more():\n    helper(1)\n"
    (broken_tree / MODEL).write_text(after)
    patch = patch_between(MODEL, before, after, probe="kimi_k3_megamoe")
    assert smoke(broken_tree, tmp_path / "series", patch) == 3


def test_an_unknown_probe_is_told_with_those_that_there_are(
    broken_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["smoke", str(broken_tree), "--probe", "nothing", "--python", sys.executable]) == 2
    assert "one of: fused_moe_triton, kimi_k3_megamoe" in capsys.readouterr().err


def test_a_probe_runs_a_tree_alone(broken_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        ["smoke", str(broken_tree), "--probe", "fused_moe_triton", "--python", sys.executable, "--json"]
    )
    gate = json.loads(capsys.readouterr().out)["gate"]
    assert code == 5
    assert gate["details"]["probe"] == "fused_moe_triton"
    assert gate["details"]["patch"] is None
    assert gate["details"]["sm100_numerics"] is None
    assert "this tree has no vllm/model_executor/layers/fused_moe/fused_moe.py" in gate["reason"]


def test_the_probes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "--list-probes"]) == 0
    out = capsys.readouterr().out
    assert "kimi_k3_megamoe" in out
    assert "fused_moe_triton" in out


@pytest.mark.parametrize(("name", "good"), [("kimi_k3_megamoe", True), ("../x", False), ("A b", False)])
def test_lint_knows_the_field(patch: Patch, name: str, good: bool) -> None:
    made = parse_patch(re.sub(rb"Probe: .*\n", f"Probe: {name}\n".encode(), patch.raw), patch.name)
    assert any(problem.startswith("Probe:") for problem in field_problems(made)) is not good
