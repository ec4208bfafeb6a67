"""Fixtures for all tests: a cache of their own, the real patch, and small trees shaped like vLLM's."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import find_patch

from tests.trees import SITU, make_tree

REPO = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def own_cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Unit tests never see the user's cache; tests marked `registry` share one, so downloads are kept."""
    if request.node.get_closest_marker("registry") is None:
        monkeypatch.setenv("PINPROOF_CACHE", str(tmp_path / "pinproof-cache"))


@pytest.fixture(autouse=True)
def own_patches(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the patch folder without its records: no test writes into the repository."""
    folder = tmp_path_factory.mktemp("patches") / "vllm"
    folder.mkdir()
    for path in (REPO / "patches/vllm").iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setenv("PINPROOF_PATCHES", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def signals_as_at_a_terminal() -> None:
    """A run in the background ignores SIGINT (and under nohup SIGHUP), and so would its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def quiet_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Real git, but none of the developer's own settings."""
    config = tmp_path_factory.mktemp("git") / "config"
    config.write_text(
        "[user]\n\tname = Test Person\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    before = {key: os.environ.get(key) for key in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")}
    os.environ.update(GIT_CONFIG_GLOBAL=str(config), GIT_CONFIG_NOSYSTEM="1")
    yield
    for key, value in before.items():
        os.environ.pop(key) if value is None else os.environ.__setitem__(key, value)


@pytest.fixture
def patch() -> Patch:
    """The real patch 0001."""
    return find_patch("0001", REPO / "patches/vllm")


@pytest.fixture
def broken_tree(tmp_path: Path, patch: Patch) -> Path:
    """A plain tree on which the patch is needed: old names at the call, new names in the library."""
    return make_tree(tmp_path / "tree", patch, fixed=False, declares=SITU)


@pytest.fixture
def broken_git_tree(broken_tree: Path) -> Path:
    """The same as a git checkout with one commit."""
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run(["git", *args], cwd=broken_tree, check=True)
    return broken_tree
