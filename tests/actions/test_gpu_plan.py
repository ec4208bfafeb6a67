"""Which commit may run on a GPU machine: reviewed ones, chosen by a person or by the merge queue."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.actions.workflows import jobs
from tests.conftest import REPO

PLAN = REPO / "tools/ci/gpu_plan.py"


def git(where: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> tuple[Path, str, str]:
    """A clone whose main has one commit, and a commit of a fork's pull request that it can read too."""
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git(upstream, "init", "-q")
    git(upstream, "commit", "-q", "--allow-empty", "-m", "reviewed")
    reviewed = git(upstream, "rev-parse", "HEAD")
    git(upstream, "checkout", "-q", "--detach")
    git(upstream, "commit", "-q", "--allow-empty", "-m", "from a fork")
    fork = git(upstream, "rev-parse", "HEAD")
    git(upstream, "update-ref", "refs/pull/7/head", fork)
    git(upstream, "checkout", "-q", "main")
    git(
        tmp_path,
        "clone",
        "-q",
        "--config",
        "remote.origin.fetch=+refs/pull/*:refs/pull/*",
        str(upstream),
        "clone",
    )
    return tmp_path / "clone", reviewed, fork


def plan(where: Path, **env: str) -> tuple[int, dict[str, str], str]:
    output = where.parent / "github-output"
    output.write_text("")
    given = {
        "DEFAULT_BRANCH": "main",
        "GITHUB_OUTPUT": str(output),
        "PATH": "/usr/bin:/bin:/usr/local/bin",
        **env,
    }
    done = subprocess.run(
        [sys.executable, "-I", str(PLAN)], cwd=where, env=given, check=False, capture_output=True, text=True
    )
    return done.returncode, dict(line.split("=", 1) for line in output.read_text().splitlines()), done.stdout


def test_a_reviewed_commit_runs_on_every_gpu_and_release(checkout: tuple[Path, str, str]) -> None:
    where, reviewed, _ = checkout
    status, output, _ = plan(where, EVENT_NAME="workflow_dispatch", INPUT_SHA=reviewed)
    known = json.loads((REPO / ".github/gpu-matrix.json").read_text())
    assert (status, output["sha"]) == (0, reviewed)
    assert len(json.loads(output["matrix"])["include"]) == len(known["gpus"]) * len(known["releases"])


def test_one_gpu_and_release_can_be_chosen(checkout: tuple[Path, str, str]) -> None:
    where, reviewed, _ = checkout
    chosen = {"INPUT_GPU": "sm90", "INPUT_RELEASE": "0.28.0"}
    _, output, _ = plan(where, EVENT_NAME="workflow_dispatch", INPUT_SHA=reviewed, **chosen)
    assert json.loads(output["matrix"])["include"] == [{"gpu": "sm90", "release": "0.28.0"}]


def test_a_commit_of_a_fork_is_refused_although_the_repository_serves_it(
    checkout: tuple[Path, str, str],
) -> None:
    where, _, fork = checkout
    assert git(where, "cat-file", "-t", fork) == "commit"
    status, output, said = plan(where, EVENT_NAME="workflow_dispatch", INPUT_SHA=fork)
    assert (status, output) == (2, {})
    assert "is not on the default branch" in said


@pytest.mark.parametrize(
    "sha", ["", "main", "abc1234", "A" * 40, "0" * 40, "--help", "a" * 40 + "\nmatrix=x"]
)
def test_anything_but_a_full_known_commit_is_refused(checkout: tuple[Path, str, str], sha: str) -> None:
    status, output, _ = plan(checkout[0], EVENT_NAME="workflow_dispatch", INPUT_SHA=sha)
    assert (status, output) == (2, {})


@pytest.mark.parametrize(
    "event", ["pull_request", "pull_request_target", "push", "schedule", "workflow_run", ""]
)
def test_no_other_event_gets_a_machine(checkout: tuple[Path, str, str], event: str) -> None:
    where, reviewed, _ = checkout
    assert plan(where, EVENT_NAME=event, INPUT_SHA=reviewed, SHA=reviewed)[0] == 2


def test_the_merge_queue_runs_its_own_commit_on_its_own_branch_only(checkout: tuple[Path, str, str]) -> None:
    where, reviewed, _ = checkout
    queue = "refs/heads/gh-readonly-queue/main/pr-7-" + "a" * 40
    assert plan(where, EVENT_NAME="merge_group", REF=queue, SHA=reviewed)[1]["sha"] == reviewed
    assert plan(where, EVENT_NAME="merge_group", REF="refs/heads/mine", SHA=reviewed)[0] == 2


@pytest.mark.parametrize("extra", [{"INPUT_GPU": "sm00"}, {"INPUT_RELEASE": "$(id)"}])
def test_an_unknown_gpu_or_release_is_refused(checkout: tuple[Path, str, str], extra: dict[str, str]) -> None:
    where, reviewed, _ = checkout
    assert plan(where, EVENT_NAME="workflow_dispatch", INPUT_SHA=reviewed, **extra)[0] == 2


def test_the_form_offers_the_gpus_of_the_matrix() -> None:
    from tests.actions.workflows import load

    workflow = REPO / ".github/workflows/gpu-smoke.yml"
    options = load(workflow)["on"]["workflow_dispatch"]["inputs"]["gpu"]["options"]
    assert options == ["all", *json.loads((REPO / ".github/gpu-matrix.json").read_text())["gpus"]]
    assert jobs(workflow)["plan"]["steps"][1]["run"] == "python3 -I tools/ci/gpu_plan.py"
