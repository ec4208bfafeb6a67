"""The main job on real vLLM releases: the verdict table, exact bytes there and back, the export, the demo."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.errors import CannotCheck
from pinproof.patchset.export import export_series
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.verdict import judge
from pinproof.releases import release_tree
from pinproof.tree import open_tree

from tests.real.releases import checkout
from tests.trees import MODEL

pytestmark = pytest.mark.registry

FORK = ("activation_beta", "activation_linear_beta")
SITU = ("situ_beta", "situ_linear_beta")
LATER = ("activation_alpha", "activation_beta")


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """vLLM 0.28.0 as released."""
    return checkout("0.28.0", tmp_path_factory.mktemp("real") / "v0.28.0", [])


@pytest.fixture
def broken(release: Path, tmp_path: Path, patch: Patch) -> Path:
    """vLLM 0.28.0 without the fix: main as it was from 2026-08-12 to 08-16."""
    return checkout("0.28.0", tmp_path / "broken", [patch])


@pytest.mark.parametrize(
    ("version", "verdict", "passes", "declares"),
    [
        ("0.26.0", "absent", (), ()),
        ("0.27.0", "not-needed", FORK, FORK),
        ("0.27.1", "not-needed", FORK, FORK),
        ("0.28.0", "applied", SITU, SITU),
        ("0.29.0", "applied", SITU, SITU),
        ("0.30.0", "obsolete", LATER, LATER),
        ("0.31.0", "obsolete", LATER, LATER),
        ("0.32.0", "obsolete", None, None),
        ("0.33.0", "obsolete", None, None),
    ],
)
def test_the_verdict_on_each_release(
    patch: Patch, version: str, verdict: str, passes: tuple[str, ...] | None, declares: tuple[str, ...] | None
) -> None:
    try:
        seen = judge(patch, release_tree("vllm", version))
    except CannotCheck as error:
        pytest.skip(f"needs the package index: {error.message}")
    assert seen.verdict == verdict, seen.sentence
    if passes is not None:
        assert (seen.passes, seen.declares) == (passes, declares)
    if verdict not in ("absent", "unknown"):
        assert "deep_gemm" in (seen.source or "")
        assert str(seen.source).split(" (")[0] in seen.sentence


def test_on_0_27_the_sentence_says_that_it_would_break_a_working_tree(patch: Patch) -> None:
    try:
        sentence = judge(patch, release_tree("vllm", "0.27.1")).sentence
    except CannotCheck as error:
        pytest.skip(f"needs the package index: {error.message}")
    assert "would break a working tree (unexpected situ_beta, situ_linear_beta)" in sentence


def test_without_the_fix_it_is_needed_and_apply_gives_the_release_and_revert_the_other_bytes(
    release: Path, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixed, before = (release / MODEL).read_bytes(), (broken / MODEL).read_bytes()
    assert fixed != before
    assert main(["verdict", "0001", str(broken)]) == 0
    assert ": needed\n" in capsys.readouterr().out
    assert main(["apply", str(broken)]) == 0
    assert (broken / MODEL).read_bytes() == fixed
    assert status(broken) == f"M  {MODEL}\n"
    assert main(["verdict", "0001", str(broken)]) == 0
    assert ": applied\n" in capsys.readouterr().out
    assert main(["apply", "--revert", str(broken)]) == 0
    assert (broken / MODEL).read_bytes() == before
    assert status(broken) == ""


def test_the_export_gives_the_patch_file_back_byte_for_byte(
    release: Path, broken: Path, patch: Patch
) -> None:
    assert export_series([patch], open_tree(release)) == {patch.name: patch.raw}
    assert export_series([patch], open_tree(broken)) == {patch.name: patch.raw}


def test_git_am_takes_the_patch_on_the_real_tree(release: Path, broken: Path, patch: Patch) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run(
        ["git", *identity, "am", "-q"], cwd=broken, input=patch.raw, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (broken / MODEL).read_bytes() == (release / MODEL).read_bytes()


def test_the_demo_goes_from_needed_to_applied_and_shows_no_gate_as_passed_that_did_not_run(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ready", "--demo", "--json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)["patches"]
    assert (job["verdict"]["verdict"], job["ready"]) == ("needed", False)
    outcomes = {gate["gate"]: gate["outcome"] for gate in job["gates"]}
    assert outcomes.pop("contract") == outcomes.pop("compile") == "pass"
    assert "pass" not in outcomes.values()
    assert all(gate["clear"] for gate in job["gates"] if gate["outcome"] != "pass")


def test_the_pins_of_the_release_agree_and_name_the_deepgemm_commit(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pins", "--json", str(release)]) == 0
    pins = [pin for pin in json.loads(capsys.readouterr().out)["pins"] if pin["library"] == "deep_gemm"]
    assert {pin["spec"] for pin in pins} == {"8b1392b978f5a03c828dd1711090d7fb50958b8a"}
    assert {pin["file"] for pin in pins} == {
        "cmake/external_projects/deepgemm.cmake", "tools/install_deepgemm.sh"
    }  # fmt: skip


def test_a_conflict_names_the_hunk_the_base_and_the_nearest_release(
    broken: Path, patch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = broken / MODEL
    model.write_bytes(model.read_bytes().replace(b"fast_math=fast_math,\n", b"fast_math=self.fast,\n"))
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, "commit", "-qam", "moved on"], cwd=broken, check=True)
    before = model.read_bytes()
    assert main(["apply", "0001", str(broken)]) == 4
    err = capsys.readouterr().err
    assert f"{MODEL}: hunk 1 (line 486) does not apply" in err
    assert f"blob {patch.diffs[0].old_id[:12]}" in err if patch.diffs[0].old_id else False
    assert "the nearest release it applies to is 0.27.1" in err or "no release near takes it" in err
    assert model.read_bytes() == before


def status(root: Path) -> str:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
