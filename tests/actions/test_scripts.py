"""Every step of every workflow, run on this machine with the variables that a runner would set."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pinproof import __version__
from pinproof.drift.publish import BRANCH, STATE_PATH
from pinproof.patchset.patchfile import Patch

from tests.actions.github_server import TOKEN, FakeGitHub, github
from tests.actions.workflows import ACTIONS, WORKFLOWS, steps
from tests.conftest import REPO
from tests.index_server import Index, index, sdist, wheel
from tests.trees import SITU, make_tree

__all__ = ["github", "index"]

STUB = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of this repository as it is on disk, whose .venv is the one the tests run in."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO, check=True, capture_output=True, text=True,
    )  # fmt: skip
    target = tmp_path / "checkout"
    for name in filter(None, listed.stdout.split("\0")):
        if (REPO / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPO / name, target / name)
    (target / ".venv").symlink_to(Path(sys.executable).parent.parent)
    (target / "tools/ci/install.sh").write_text(STUB)  # test_the_lock_installs runs the real one
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "checkout"]):
        subprocess.run(["git", *arguments], cwd=target, check=True)
    return target


def run(checkout: Path, script: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a step's script from another folder, as a runner may."""
    runner = checkout.parent / "runner"
    runner.mkdir(exist_ok=True)
    outputs = {"GITHUB_OUTPUT": str(runner / "output"), "GITHUB_STEP_SUMMARY": str(runner / "summary")}
    ours = ("PINPROOF_PATCHES", "GITHUB_TOKEN")  # the checkout has patches of its own
    keep = {key: value for key, value in os.environ.items() if key not in ours}
    return subprocess.run(
        [checkout / script, *arguments], cwd=checkout.parent, check=False, capture_output=True, text=True,
        env={**keep, **outputs, "RUNNER_TEMP": str(runner), "PYTHONPATH": str(checkout / "tools"), **env},
    )  # fmt: skip


def publish_release(index: Index, tmp: Path, patch: Patch, version: str) -> None:
    """A vLLM release that holds the fix: sdist and wheel."""
    root = make_tree(tmp / f"vllm-{version}", patch, fixed=True, declares=SITU)
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.py")}
    info = f"Metadata-Version: 2.4\nName: vllm\nVersion: {version}\n".encode()
    index.add("vllm", f"vllm-{version}-py3-none-any.whl",
              wheel({**files, f"vllm-{version}.dist-info/METADATA": info}))  # fmt: skip
    top = {f"vllm-{version}/{name}": content for name, content in files.items()}
    index.add("vllm", f"vllm-{version}.tar.gz", sdist({**top, f"vllm-{version}/PKG-INFO": info}))


def test_every_step_is_a_script_that_is_here_and_is_run_by_a_test() -> None:
    lines = {step["run"].strip() for path in [*WORKFLOWS, *ACTIONS] for step in steps(path) if "run" in step}
    tested = {
        ".ci/run",  # runs this test
        "python3 -I tools/ci/gpu_plan.py",  # test_gpu_plan.py
        'exit "$CODE"', '"$GITHUB_ACTION_PATH/run.sh"',  # test_contract_action.py
        "tools/ci/install.sh dev", "tools/ci/install.sh run", "tools/ci/releases.sh", "tools/ci/build.sh",
        ".venv/bin/python tools/ci/require_green.py",  # test_release_and_runner.py
        "tools/ci/gpu_smoke.sh", "tools/ci/gpu_validate.sh",
        "tools/ci/drift_look.sh", "tools/ci/drift_report.sh", "tools/ci/page.sh",
    }  # fmt: skip
    assert lines == tested
    for line in lines - {'exit "$CODE"', '"$GITHUB_ACTION_PATH/run.sh"'}:
        script = REPO / next(word for word in line.split() if "/" in word and ".venv" not in word)
        assert script.suffix == ".py" or os.access(script, os.X_OK), script


def test_releases_prints_the_table_and_exports_without_a_change(
    checkout: Path, index: Index, tmp_path: Path, patch: Patch
) -> None:
    publish_release(index, tmp_path, patch, "0.28.0")
    # the stand-in's file is not vLLM's, so its blob ids are others: take them into the patch first
    for command in (["fetch", "0.28.0", str(tmp_path / "tree")], ["export", str(tmp_path / "tree")]):
        assert run(checkout, ".venv/bin/pinproof", *command).returncode == 0
    done = run(checkout, "tools/ci/releases.sh", RELEASES="0.28.0..0.28.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "applied" in done.stdout
    summary = (tmp_path / "runner/summary").read_text()
    assert summary.startswith("### The series on vLLM 0.28.0..0.28.0\n")
    assert "applied" in summary


def test_releases_fails_when_the_exported_patch_would_differ(
    checkout: Path, index: Index, tmp_path: Path, patch: Patch
) -> None:
    publish_release(index, tmp_path, patch, "0.28.0")
    done = run(checkout, "tools/ci/releases.sh", RELEASES="0.28.0..0.28.0")
    assert (done.returncode, "would change" in done.stdout) == (1, True)


def test_the_watch_looks_reports_and_is_silent_the_next_time(
    checkout: Path, index: Index, github: FakeGitHub, tmp_path: Path, patch: Patch
) -> None:
    for version in ("0.32.0", "0.33.0"):
        publish_release(index, tmp_path, patch, version)
    state = {"schema": "pinproof.drift-state/1", "engine": "vllm", "version": "0.32.0", "libraries": {}}
    (checkout / ".github/drift-state.json").write_text(json.dumps(state))
    done = run(checkout, "tools/ci/drift_look.sh", GITHUB_TOKEN=TOKEN)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runner/output").read_text() == "changed=true\n"
    assert github.issues == []

    assert run(checkout, "tools/ci/drift_report.sh", GITHUB_TOKEN=TOKEN).returncode == 0
    assert [issue["title"] for issue in github.issues] == ["Drift watch: vllm 0.33.0 (nothing breaks)"]
    assert STATE_PATH in github.files[BRANCH]

    (tmp_path / "runner/output").unlink()
    assert run(checkout, "tools/ci/drift_look.sh", GITHUB_TOKEN=TOKEN).returncode == 0
    assert (tmp_path / "runner/output").read_text() == "changed=false\n"


def test_a_watch_that_cannot_see_fails_and_says_nothing_about_changes(
    checkout: Path, index: Index, github: FakeGitHub, tmp_path: Path
) -> None:
    index.down = True
    done = run(checkout, "tools/ci/drift_look.sh", GITHUB_TOKEN=TOKEN)
    assert done.returncode == 5
    assert not (tmp_path / "runner/output").exists()


RESULT = {"gate": {"gate": "smoke", "outcome": "skip", "summary": "bind passed", "reason": "no GPU here"}}


class TestGpuSmoke:
    """The GPU job's script, with a stand-in for the smoke run itself."""

    def env(self, checkout: Path, **more: str) -> dict[str, str]:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, check=True, capture_output=True)
        return {
            "SHA": head.stdout.decode().strip(), "RELEASE": "0.28.0", "PINPROOF_PYTHON": sys.executable,
            "PINPROOF_MARK": str(checkout.parent / "mark"), **more,
        }  # fmt: skip

    def stub(self, checkout: Path, status: int) -> None:
        body = f"#!/bin/sh\nprintf '%s' '{json.dumps(RESULT)}'\nexit {status}\n"
        (checkout / "tools/smoke.sh").write_text(body)

    def test_it_leaves_a_record_that_the_hosted_job_takes_in(
        self, checkout: Path, index: Index, tmp_path: Path, patch: Patch
    ) -> None:
        pytest.importorskip("pinproof.submit.evidence", reason="evidence is not in this version")
        publish_release(index, tmp_path, patch, "0.28.0")
        self.stub(checkout, 5)
        done = run(checkout, "tools/ci/gpu_smoke.sh", **self.env(checkout))
        assert done.returncode == 5, done.stdout + done.stderr
        record = tmp_path / "runner/evidence/smoke.json"
        assert json.loads(record.read_bytes())["outcome"] == "skip"

        taken = run(checkout, "tools/ci/gpu_validate.sh", RELEASE="0.28.0", RECORD=str(record))
        assert taken.returncode == 0, taken.stdout + taken.stderr
        assert "patches/vllm/evidence" in taken.stdout

        record.write_bytes(record.read_bytes().replace(b'"skip"', b'"pass"'))
        shutil.rmtree(tmp_path / "runner/vllm-0.28.0")
        assert run(checkout, "tools/ci/gpu_validate.sh", RELEASE="0.28.0", RECORD=str(record)).returncode == 2

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"SHA": "0" * 40}, "the checkout is not"),
            ({"SHA": "main"}, "40 hex digits"),
            ({"RELEASE": "0.28.0; id"}, "must be a vLLM release"),
            ({"PINPROOF_PYTHON": ""}, "docs/gpu-runners.md"),
            ({"HF_TOKEN": "x"}, "can read HF_TOKEN"),
            ({"ACTIONS_ID_TOKEN_REQUEST_URL": "x"}, "gets no secret"),
            ({"AWS_SECRET": "two\nlines"}, "can read AWS_SECRET"),
        ],
    )
    def test_it_refuses_before_anything_of_the_tree_runs(
        self, checkout: Path, change: dict[str, str], says: str
    ) -> None:
        done = run(checkout, "tools/ci/gpu_smoke.sh", **self.env(checkout, **change))
        assert done.returncode == 2
        assert says in done.stdout
        assert not (checkout.parent / "runner/evidence").exists()

    def test_a_machine_that_ran_a_job_before_is_refused(self, checkout: Path) -> None:
        (checkout.parent / "mark").mkdir()
        done = run(checkout, "tools/ci/gpu_smoke.sh", **self.env(checkout))
        assert (done.returncode, "must be ephemeral" in done.stdout) == (2, True)


def test_the_release_builds_twice_the_same_and_the_wheel_runs(checkout: Path, tmp_path: Path) -> None:
    assert run(checkout, "tools/ci/build.sh", GITHUB_REF_NAME=f"v{__version__}").returncode == 2, "no date"
    changelog = checkout / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("(unreleased)", "(2026-12-01)", 1))
    built = []
    for out in ("one", "two"):
        done = run(checkout, "tools/ci/build.sh", GITHUB_REF_NAME=f"v{__version__}", OUT=str(tmp_path / out))
        assert done.returncode == 0, done.stdout + done.stderr
        built.append({path.name: path.read_bytes() for path in (tmp_path / out).iterdir()})
    names = {f"pinproof-{__version__}-py3-none-any.whl", f"pinproof-{__version__}.tar.gz"}
    assert (set(built[0]), built[0]) == (names, built[1])


@pytest.mark.registry
def test_the_lock_installs_with_its_hashes_and_a_changed_hash_stops_it(
    checkout: Path, tmp_path: Path
) -> None:
    shutil.copy2(REPO / "tools/ci/install.sh", checkout / "tools/ci/install.sh")
    venv = tmp_path / "venv"
    assert subprocess.run([checkout / "tools/ci/install.sh", "run", venv], check=False).returncode == 0
    shown = subprocess.run([venv / "bin/pinproof", "--version"], check=True, capture_output=True, text=True)
    assert shown.stdout == f"pinproof {__version__}\n"

    lock = checkout / "tools/ci/requirements/run.txt"
    lock.write_text(re.sub(r"sha256:[0-9a-f]{8}", "sha256:00000000", lock.read_text()))
    again = subprocess.run(
        [checkout / "tools/ci/install.sh", "run", tmp_path / "other"], check=False, capture_output=True
    )
    assert again.returncode != 0
    assert b"hash" in again.stderr.lower()


def test_a_tag_that_is_not_the_version_is_no_release(checkout: Path) -> None:
    done = run(checkout, "tools/ci/build.sh", GITHUB_REF_NAME="v99.0")
    assert (done.returncode, "the tag is v99.0" in done.stdout) == (2, True)


def test_the_page_holds_the_report_and_the_documentation(
    checkout: Path, index: Index, tmp_path: Path, patch: Patch
) -> None:
    publish_release(index, tmp_path, patch, "0.28.0")
    done = run(checkout, "tools/ci/page.sh", GITHUB_REPOSITORY="someone/fork")
    assert done.returncode == 0, done.stderr
    page = tmp_path / "runner/page"
    assert "applied" in (page / "index.html").read_text()
    assert "https://someone.github.io/fork/feed.xml" in (page / "feed.xml").read_text()
    assert "Your first patch" in (page / "docs/tutorials/first-patch.html").read_text()


def test_a_page_that_cannot_be_made_is_not_published(checkout: Path, index: Index, tmp_path: Path) -> None:
    index.down = True
    done = run(checkout, "tools/ci/page.sh", GITHUB_REPOSITORY="someone/fork")
    assert done.returncode != 0
    assert not (tmp_path / "runner/page/index.html").exists()
