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
from pinproof.patchset.series import find_patch
from pinproof.patchset.verdict import judge
from pinproof.releases import release_tree
from pinproof.tree import Tree, open_tree

from tests.conftest import REPO
from tests.real.releases import checkout
from tests.trees import MODEL

pytestmark = pytest.mark.registry

FETCHED = ":/vllm 0.28.0, without"  # the one commit of a fetched tree, by its subject
FORK = ("activation_beta", "activation_linear_beta")
SITU = ("situ_beta", "situ_linear_beta")
LATER = ("activation_alpha", "activation_beta")


@pytest.fixture(scope="module")
def checked_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """vLLM 0.28.0 without the fix: main as it was from 2026-08-12 to 08-16."""
    patch = find_patch("0001", REPO / "patches/vllm")
    return checkout("0.28.0", tmp_path_factory.mktemp("real") / "vllm", [patch])


@pytest.fixture
def broken(checked_out: Path) -> Path:
    """The same, as fetched whatever the test before did to it."""
    git(checked_out, "reset", "-q", "--hard", FETCHED)
    return checked_out


@pytest.fixture
def fixed() -> bytes:
    """The module as 0.28.0 released it."""
    content = wheel("0.28.0").read(MODEL)
    assert content is not None
    return content


def wheel(version: str) -> Tree:
    try:
        tree = release_tree("vllm", version)
        tree.read(MODEL)
    except CannotCheck as error:
        pytest.skip(f"needs the package index: {error.message}")
    return tree


def git(root: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout


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
    seen = judge(patch, wheel(version))
    assert seen.verdict == verdict, seen.sentence
    if passes is not None:
        assert (seen.passes, seen.declares) == (passes, declares)
    if verdict not in ("absent", "unknown"):
        assert "deep_gemm" in (seen.source or "")
        assert all(part in seen.sentence for part in str(seen.source).split(", "))


def test_on_0_27_the_sentence_says_that_it_would_break_a_working_tree(patch: Patch) -> None:
    sentence = judge(patch, wheel("0.27.1")).sentence
    assert "would break a working tree (unexpected situ_beta, situ_linear_beta)" in sentence


def test_without_the_fix_it_is_needed_and_apply_gives_the_release_and_revert_the_other_bytes(
    fixed: bytes, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (broken / MODEL).read_bytes()
    assert fixed != before
    assert main(["verdict", "0001", str(broken)]) == 0
    assert ": needed\n" in capsys.readouterr().out
    assert main(["apply", str(broken)]) == 0
    assert (broken / MODEL).read_bytes() == fixed
    assert git(broken, "status", "--porcelain") == f"M  {MODEL}\n"
    assert main(["verdict", "0001", str(broken)]) == 0
    assert ": applied\n" in capsys.readouterr().out
    assert main(["apply", "--revert", str(broken)]) == 0
    assert (broken / MODEL).read_bytes() == before
    assert git(broken, "status", "--porcelain") == ""


def test_the_export_gives_the_patch_file_back_byte_for_byte(broken: Path, patch: Patch) -> None:
    assert export_series([patch], open_tree(broken)) == {patch.name: patch.raw}
    assert main(["apply", str(broken)]) == 0
    assert export_series([patch], open_tree(broken)) == {patch.name: patch.raw}
    git(broken, "commit", "-qam", "fixed")
    assert export_series([patch], open_tree(broken)) == {patch.name: patch.raw}


def test_git_am_takes_the_patch_on_the_real_tree(broken: Path, fixed: bytes, patch: Patch) -> None:
    mail = broken.parent / "mail"
    mail.write_bytes(patch.raw)
    git(broken, "am", "-q", str(mail))
    assert (broken / MODEL).read_bytes() == fixed


def test_the_demo_goes_from_needed_to_applied_and_shows_no_gate_as_passed_that_did_not_run(
    checked_out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ready", "--demo", "--json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)["patches"]
    assert (job["verdict"]["verdict"], job["ready"]) == ("needed", False)
    assert {gate["gate"]: gate["outcome"] for gate in job["ran"]} == {"contract": "pass", "compile": "pass"}
    states = {item["item"]: item["state"] for item in job["asked"]}
    assert states["contract"] == states["compile"] == "met"
    assert {states[gate] for gate in ("pre-commit", "duplicates", "smoke")} == {"missing"}
    assert all(item["clear"] for item in job["asked"] if item["state"] == "missing")


def test_the_pins_of_the_release_agree_and_name_the_deepgemm_commit(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pins", "--json", str(broken)]) == 0
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
    git(broken, "commit", "-qam", "moved on")
    before = model.read_bytes()
    assert main(["apply", "0001", str(broken)]) == 4
    err = capsys.readouterr().err
    assert f"{MODEL}: hunk 1 (line 486) does not apply" in err
    assert f"made on {MODEL} blob {str(patch.diffs[0].old_id)[:12]}" in err
    assert "the nearest release it applies to is 0.27.1" in err
    assert model.read_bytes() == before
