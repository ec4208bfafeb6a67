"""What the workflows promise: nothing unpinned, no right too many, no outside text in a shell, no forks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.actions.workflows import ACTIONS, WORKFLOWS, jobs, load, steps
from tests.conftest import REPO

BIN = Path(sys.executable).parent
ALL = [*WORKFLOWS, *ACTIONS]
GPU = REPO / ".github/workflows/gpu-smoke.yml"
RIGHTS = {
    ("drift-watch.yml", "publish"): {"id-token": "write", "pages": "write"},
    ("drift-watch.yml", "report"): {"contents": "write", "issues": "write"},
    ("release.yml", "build"): {"checks": "read", "contents": "read"},
    ("release.yml", "publish"): {"attestations": "write", "id-token": "write"},
}


def name(path: Path) -> str:
    return path.name if path.name != "action.yml" else path.parent.name


@pytest.mark.parametrize("path", ALL, ids=name)
def test_every_action_is_pinned_to_a_commit_and_says_which_version_that_is(path: Path) -> None:
    uses = [line.strip() for line in path.read_text("utf-8").splitlines() if re.match(r"\s*(- )?uses:", line)]
    for line in uses:
        assert re.fullmatch(r"(- )?uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    assert len(uses) == sum("uses" in step for step in steps(path))


def test_one_action_has_one_version_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for path in ALL:
        for step in steps(path):
            action, _, commit = step.get("uses", "").partition("@")
            pins.setdefault(action, set()).add(commit)
    assert all(len(commits) == 1 for commits in pins.values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_no_workflow_has_rights_and_each_job_names_its_own(path: Path) -> None:
    assert load(path)["permissions"] == {}
    for job_id, job in jobs(path).items():
        assert job["permissions"] == RIGHTS.get((path.name, job_id), {"contents": "read"})
        assert job["timeout-minutes"] <= 60


@pytest.mark.parametrize("path", ALL, ids=name)
def test_a_run_line_is_one_script_and_holds_no_expression(path: Path) -> None:
    for step in steps(path):
        assert "${{" not in step.get("run", "")
        assert "\n" not in step.get("run", "").strip()


@pytest.mark.parametrize("path", ALL, ids=name)
def test_no_checkout_leaves_the_token_behind(path: Path) -> None:
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", ALL, ids=name)
def test_nothing_takes_a_secret_or_the_rights_of_the_base_repository(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "secrets." not in text
    assert "pull_request_target" not in load(path).get("on", {})
    assert "workflow_run" not in load(path).get("on", {})


def test_a_gpu_machine_is_asked_for_only_by_the_merge_queue_or_a_person() -> None:
    on_gpu = {
        path.name for path in WORKFLOWS for job in jobs(path).values() if "self-hosted" in job["runs-on"]
    }
    assert on_gpu == {GPU.name}
    assert set(load(GPU)["on"]) == {"workflow_dispatch", "merge_group"}


def test_a_gpu_job_waits_for_reviewers_and_holds_no_token() -> None:
    smoke = jobs(GPU)["smoke"]
    assert smoke["environment"] == "gpu"
    assert "ephemeral" in smoke["runs-on"]
    assert "github.token" not in str(smoke)
    assert jobs(GPU)["validate"]["runs-on"] == "ubuntu-24.04"


@pytest.mark.parametrize(("workflow", "environment"), [("release", "pypi"), ("drift-watch", "github-pages")])
def test_where_rights_to_publish_are_held_nothing_of_the_repository_runs(
    workflow: str, environment: str
) -> None:
    publish = jobs(REPO / f".github/workflows/{workflow}.yml")["publish"]
    assert not any("run" in step or "checkout" in step.get("uses", "") for step in publish["steps"])
    assert publish["environment"]["name"] == environment


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_the_linters_object_to_a_planted_mistake_in_it(path: Path, tmp_path: Path) -> None:
    """Zero findings mean something only when the tools read the file."""
    text = path.read_text("utf-8")
    bad = re.sub(r"@[0-9a-f]{40} # v[\d.]+", "@main", text, count=1)
    bad = re.sub(r"run: \S.*", "run: echo ${{ github.head_ref }}", bad, count=1)
    target = tmp_path / ".github/workflows" / path.name
    target.parent.mkdir(parents=True)
    target.write_text(bad)
    linted = subprocess.run(
        [BIN / "actionlint", target.name], cwd=target.parent, check=False, capture_output=True
    )
    assert linted.returncode == 1, linted.stdout
    assert b"untrusted" in linted.stdout
    audit = subprocess.run(
        [BIN / "zizmor", "--offline", "--no-progress", "--persona=pedantic", "--format=json", str(target)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "unpinned-uses" in audit.stdout
    assert "template-injection" in audit.stdout


def test_dependabot_watches_the_actions_and_the_locks() -> None:
    updates = load(REPO / ".github/dependabot.yml")["updates"]
    assert {update["package-ecosystem"] for update in updates} == {"github-actions", "pip"}
