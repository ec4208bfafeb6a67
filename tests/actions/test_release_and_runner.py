"""A release needs green checks; a runner takes one job; no proof pushes another out of a queue."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.actions.workflows import jobs, load
from tests.conftest import REPO

TOKEN = "ghp_fake0token0that0must0never0be0shown"
SHA = "a" * 40
Answer = Callable[[str, str, Any], tuple[int, Any]]


@pytest.fixture
def api() -> Iterator[tuple[str, list[tuple[str, str, Any, str]], list[Answer]]]:
    """A server that notes each request and answers as told."""
    seen: list[tuple[str, str, Any, str]] = []
    answers: list[Answer] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            seen.append((self.command, self.path, body, self.headers.get("Authorization") or ""))
            status, content = answers[-1](self.command, self.path, body)
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815 (http.server's names)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", seen, answers
    server.shutdown()
    server.server_close()


def run(script: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, REPO / "tools/ci" / script, *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "GITHUB_TOKEN": TOKEN, "NO_PROXY": "127.0.0.1", **env},
    )  # fmt: skip


def check_run(name: str, conclusion: str = "success", app: str = "github-actions") -> dict[str, Any]:
    return {"name": name, "conclusion": conclusion, "app": {"slug": app}}


GREEN = [check_run("check (Python 3.10)"), check_run("check (Python 3.14)")]


@pytest.mark.parametrize(
    ("runs", "code"),
    [
        (GREEN, 0),
        (GREEN[:1], 1),
        ([], 1),
        ([GREEN[0], check_run("check (Python 3.14)", "failure")], 1),
        ([GREEN[0], check_run("check (Python 3.14)", app="somebody")], 1),
    ],
)
def test_only_a_commit_with_every_check_green_is_released(runs: list[Any], code: int, api: Any) -> None:
    url, seen, answers = api
    answers.append(lambda *_: (200, {"total_count": len(runs), "check_runs": runs}))
    done = run("require_green.py", GITHUB_API_URL=url, GITHUB_REPOSITORY="owner/name", GITHUB_SHA=SHA)
    assert done.returncode == code, done.stdout + done.stderr
    assert seen[0][1].startswith(f"/repos/owner/name/commits/{SHA}/check-runs?")
    assert ("has not passed" in done.stdout) == (code == 1)


def test_a_release_is_built_after_its_checks_were_looked_at() -> None:
    steps = [step.get("run", "") for step in jobs(REPO / ".github/workflows/release.yml")["build"]["steps"]]
    assert steps.index(".venv/bin/python tools/ci/require_green.py") < steps.index("tools/ci/build.sh")


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    (tmp_path / "run.sh").write_text('#!/bin/sh\necho "$@" >started\nenv >environment\nexit 7\n')
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


def test_a_machine_is_registered_for_one_job_and_the_job_never_sees_the_token(runner: Path, api: Any) -> None:
    url, seen, answers = api
    answers.append(lambda *_: (201, {"runner": {"id": 1}, "encoded_jit_config": "abcDEF123="}))
    done = run("register_runner.py", "owner/name", "sm90", str(runner), GITHUB_API_URL=url)
    assert done.returncode == 7, "the runner's own exit code"
    ((method, path, body, login),) = seen
    assert (method, path) == ("POST", "/repos/owner/name/actions/runners/generate-jitconfig")
    assert login == f"Bearer {TOKEN}"
    wanted = jobs(REPO / ".github/workflows/gpu-smoke.yml")["smoke"]["runs-on"]
    assert body["labels"] == [*wanted[:-1], "sm90"]
    assert (runner / "started").read_text() == "--jitconfig abcDEF123=\n"
    assert TOKEN not in (runner / "environment").read_text()


@pytest.mark.parametrize(
    ("status", "content"),
    [(403, {}), (201, {}), (201, []), (201, {"encoded_jit_config": "x; rm"}), (500, {})],
)
def test_without_a_configuration_nothing_is_started(
    status: int, content: Any, runner: Path, api: Any
) -> None:
    url, _, answers = api
    answers.append(lambda *_: (status, content))
    done = run("register_runner.py", "owner/name", "sm90", str(runner), GITHUB_API_URL=url)
    assert done.returncode == 2
    assert not (runner / "started").exists()
    assert TOKEN not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [[], ["owner", "sm90", "."], ["owner/name", "sm80", "."], ["owner/name", "sm90", "/nonexistent"]],
)
def test_a_wrong_argument_asks_nobody(arguments: list[str], api: Any) -> None:
    url, seen, _ = api
    assert run("register_runner.py", *arguments, GITHUB_API_URL=url).returncode == 2
    assert seen == []


def test_no_token_leaves_over_plain_http(runner: Path) -> None:
    done = run(
        "register_runner.py", "owner/name", "sm90", str(runner), GITHUB_API_URL="http://elsewhere.invalid"
    )
    assert done.returncode == 2
    assert "is not https" in done.stderr


def test_no_proof_that_waits_can_be_pushed_out_by_another() -> None:
    """GitHub keeps one waiting run or job in a group and cancels the one that waited before."""
    path = REPO / ".github/workflows/gpu-smoke.yml"
    assert all("concurrency" not in job for job in jobs(path).values()), "a group of jobs would do just that"
    template = load(path)["concurrency"]["group"]
    wishes = list(itertools.product(("a", "b"), ("all", "sm90", "sm100"), ("all", "0.28.0", "0.29.0")))
    groups = {_group(template, *wish) for wish in wishes}
    assert len(groups) == len(wishes)
    assert "${{" not in "".join(groups)


def _group(template: str, sha: str, gpu: str, release: str) -> str:
    values = {"inputs.sha": sha, "inputs.gpu": gpu, "inputs.release": release}
    return re.sub(r"\$\{\{ ([\w.]+) \|\| [^}]+ \}\}", lambda match: values[match[1]], template)
