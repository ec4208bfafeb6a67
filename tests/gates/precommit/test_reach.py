"""Whether a hook repository can be cloned from here is known within seconds, and asked once."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pinproof.gates.precommit import reach
from pinproof.gates.precommit.config import Hook
from pinproof.gates.precommit.reach import reachable, remember_cloned


def hook(repo: str, rev: str = "v1") -> Hook:
    return Hook(0, repo, rev, None, {"id": "a"})


@pytest.fixture
def silent_server() -> Iterator[str]:
    """An address that takes connections and never says a word, as behind some firewalls."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/o/n"


def test_a_repository_that_answers_is_reachable_and_one_that_is_not_there_is_not(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "hooks"], check=True)
    here, gone = f"file://{tmp_path}/hooks", f"file://{tmp_path}/gone"
    assert reachable([hook(here), hook(gone)], tmp_path) == {(here, "v1"): True, (gone, "v1"): False}


def test_hooks_of_the_tree_itself_are_not_asked_about(tmp_path: Path) -> None:
    assert reachable([hook("local"), hook("meta")], tmp_path) == {}


def test_servers_that_never_answer_cost_one_time_limit_together(
    silent_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "_LIMIT_S", 0.4)
    started = time.monotonic()
    answers = reachable([hook(f"{silent_server}{n}") for n in range(4)], tmp_path)
    assert set(answers.values()) == {False}
    assert time.monotonic() - started < 4 * 0.4


def test_what_was_cloned_once_is_not_asked_again_but_another_revision_is(tmp_path: Path) -> None:
    gone = f"file://{tmp_path}/gone"
    remember_cloned([hook(gone)], tmp_path)
    assert reachable([hook(gone), hook(gone, "v2")], tmp_path) == {(gone, "v1"): True, (gone, "v2"): False}


@pytest.mark.parametrize("repo", ["ext::sh -c touch% {flag}", "--upload-pack=touch {flag}"])
def test_an_address_that_would_run_a_program_does_not(tmp_path: Path, repo: str) -> None:
    flag = tmp_path / "ran"
    address = repo.format(flag=flag)
    assert reachable([hook(address)], tmp_path) == {(address, "v1"): False}
    assert not flag.exists()
