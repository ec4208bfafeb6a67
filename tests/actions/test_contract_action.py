"""The contract action and the pre-commit hook, run as GitHub and pre-commit would run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pinproof.patchset.patchfile import Patch

from tests.actions.workflows import ACTIONS, load
from tests.conftest import REPO
from tests.trees import SITU, make_tree

INSTALL = '#!/bin/sh\nmkdir -p "$2/bin"\nln -sf "{program}" "$2/bin/pinproof"\n'


@pytest.fixture
def workspace(tmp_path: Path, patch: Patch) -> Path:
    """A caller's workspace with a tree in `engine/` whose one call no longer fits."""
    make_tree(tmp_path / "work/engine", patch, fixed=False, declares=SITU)
    return tmp_path / "work"


def act(workspace: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the action's script as its step does; the locked install is tested in test_scripts.py."""
    action = workspace.parent / "action"
    if not action.exists():
        for folder in (".github/actions/contract", "tools"):
            shutil.copytree(REPO / folder, action / folder)
        program = Path(sys.executable).parent / "pinproof"
        (action / "tools/ci/install.sh").write_text(INSTALL.format(program=program))
    temp = workspace.parent / "temp"
    temp.mkdir(exist_ok=True)
    (temp / "output").write_text("")
    (temp / "summary").write_text("")
    given = {f"INPUT_{name.upper()}": value for name, value in {"tree": "engine", **inputs}.items()}
    done = subprocess.run(
        [action / ".github/actions/contract/run.sh"],
        cwd=workspace, check=False, capture_output=True, text=True,
        env={**os.environ, **given, "GITHUB_WORKSPACE": str(workspace), "RUNNER_TEMP": str(temp),
             "GITHUB_OUTPUT": str(temp / "output"), "GITHUB_STEP_SUMMARY": str(temp / "summary")},
    )  # fmt: skip
    return done, (temp / "output").read_text()


def test_a_call_that_does_not_fit_is_an_annotation_on_its_line(workspace: Path) -> None:
    done, output = act(workspace)
    assert done.returncode == 0, done.stderr  # a step of its own fails the job, after the upload
    assert output.startswith("exit-code=1\n")
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("::error"))
    assert line.startswith("::error file=engine/vllm/models/kimi_k3/nvidia/model.py,line=")
    assert "activation_beta" in line


def test_one_run_gives_annotations_a_summary_sarif_and_a_baseline(workspace: Path) -> None:
    done, output = act(workspace)
    temp = workspace.parent / "temp"
    assert f"sarif={temp}/kernel-contract.sarif\nreport={temp}/kernel-contract.json\n" in output
    assert "**1 failing call.**" in (temp / "summary").read_text()
    assert done.stderr.count("::notice") + done.stderr.count("cannot check") <= 1, "notes come once"
    shutil.copy(temp / "kernel-contract.json", workspace / "base.json")
    assert act(workspace, baseline="base.json")[1].startswith("exit-code=0\n")


def test_another_engine_is_named(workspace: Path) -> None:
    (workspace / "engine/vllm").rename(workspace / "engine/other")
    assert act(workspace, engine="other")[1].startswith("exit-code=")
    assert act(workspace, engine="missing")[1] == "exit-code=2\n"


def test_a_forks_pull_request_uploads_nothing_and_every_right_is_to_read() -> None:
    (path,) = ACTIONS
    upload = next(step for step in load(path)["runs"]["steps"] if "upload-sarif" in step.get("uses", ""))
    assert "github.event.pull_request.head.repo.fork != true" in upload["if"]
    assert "github.token" not in path.read_text()


def test_findings_go_to_code_scanning(workspace: Path) -> None:
    act(workspace)
    sarif = json.loads((workspace.parent / "temp/kernel-contract.sarif").read_bytes())
    assert sarif["version"] == "2.1.0"
    (result, *_) = sarif["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "engine/vllm/models/kimi_k3/nvidia/model.py"


def test_a_tree_that_fits_passes(workspace: Path, patch: Patch) -> None:
    make_tree(workspace / "engine", patch, fixed=True, declares=SITU)
    done, output = act(workspace)
    assert (output.splitlines()[0], "::error" in done.stdout) == ("exit-code=0", False)


@pytest.mark.parametrize(
    "value", ["$(touch canary)", "`touch canary`", "; touch canary", "--explain=x", "a\nb"]
)
def test_an_input_is_never_shell_text(workspace: Path, value: str) -> None:
    act(workspace, tree=value, library=value)
    act(workspace, **{"with": value})
    assert not list(workspace.parent.rglob("canary"))


def test_every_input_reaches_the_script_through_the_environment() -> None:
    (path,) = ACTIONS
    content = load(path)
    step = next(step for step in content["runs"]["steps"] if step.get("id") == "contract")
    passed = {value for key, value in step["env"].items() if key.startswith("INPUT_")}
    named = {f"${{{{ inputs.{name} }}}}" for name in content["inputs"]}
    assert passed == named - {"${{ inputs.upload-sarif }}"}, "the upload is a step of its own"


def test_the_hook_checks_the_files_that_pre_commit_names(workspace: Path) -> None:
    hooks = yaml.safe_load((REPO / ".pre-commit-hooks.yaml").read_text())
    hook = next(hook for hook in hooks if hook["id"] == "kernel-contract")
    program, *arguments = hook["entry"].split()
    model = "vllm/models/kimi_k3/nvidia/model.py"
    for files, status in (([model], 1), (["vllm/__init__.py"], 0)):
        done = subprocess.run(
            [Path(sys.executable).parent / program, *arguments, *files], cwd=workspace / "engine",
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
    assert hook["require_serial"] is True
