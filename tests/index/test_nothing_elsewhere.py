"""With a mirror configured, no command sends anything to any other host; offline, to none at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pinproof.patchset.patchfile import Patch

from tests.index_server import Index, index, sdist, wheel
from tests.trees import SITU, make_tree

__all__ = ["index"]

# Every name looked up and every address connected to, by this process and each Python it starts.
RECORDER = """
import os, sys
def hook(event, args):
    if event == "socket.getaddrinfo":
        text = f"{args[0]}"
    elif event == "socket.connect" and isinstance(args[1], tuple):
        text = f"{args[1][0]}"
    else:
        return
    with open(os.environ["RECORD_HOSTS"], "a") as out:
        out.write(text + "\\n")
sys.addaudithook(hook)
"""
# git and curl are no Python: this one notes what it would have fetched, and does the rest.
GIT = """#!/bin/sh
for word; do case $word in http*://*|ssh:*|git@*) echo "git $word" >>"$RECORD_HOSTS"; exit 128;; esac; done
exec "{git}" "$@"
"""

COMMANDS = [
    ["verdict", "--release", "vllm==1.0"],
    ["verdict", "--releases", "1.0..2.0"],
    ["contract", "--release", "vllm==1.0"],
    ["contract", "TREE"],
    ["verdict", "TREE"],
    ["apply", "TREE"],
    ["pins", "--release", "vllm==1.0"],
    ["fetch", "vllm==1.0", "NEW"],
    ["status", "--releases", "1.0..2.0"],
]
PINS = (
    b"deep_gemm @ git+https://github.com/deepseek-ai/DeepGEMM@" + b"1" * 40 + b"\nflashinfer-python==0.6.1\n"
)


@pytest.fixture
def published(index: Index, tmp_path: Path, patch: Patch) -> Path:
    """A release on the mirror, the same tree on disk, and pins of libraries that the mirror lacks."""
    root = make_tree(tmp_path / "tree", patch, fixed=False, declares=SITU)
    (root / "requirements").mkdir(exist_ok=True)
    (root / "requirements/cuda.txt").write_bytes(PINS)
    files = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    index.add("vllm", "vllm-1.0-cp38-abi3-manylinux_2_31_x86_64.whl", wheel(files))
    index.add("vllm", "vllm-1.0.tar.gz", sdist({f"vllm-1.0/{name}": data for name, data in files.items()}))
    return root


def hosts(
    command: list[str], tmp_path: Path, tree: Path, env: dict[str, str]
) -> tuple[set[str], subprocess.CompletedProcess[str]]:
    """Run a command; the hosts that it asked for, and how it ended."""
    import shutil

    record, site, program = tmp_path / "hosts", tmp_path / "site", tmp_path / "bin/git"
    for folder in (site, program.parent):
        folder.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(RECORDER)
    program.write_text(GIT.format(git=shutil.which("git")))
    program.chmod(0o755)
    record.write_text("")
    arguments = [{"TREE": str(tree), "NEW": str(tmp_path / "new")}.get(word, word) for word in command]
    done = subprocess.run(
        [sys.executable, "-m", "pinproof", *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(site), "RECORD_HOSTS": str(record),
             "PATH": f"{program.parent}:{os.environ['PATH']}", **env},
    )  # fmt: skip
    return set(record.read_text().split("\n")) - {""}, done


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_only_the_mirror_is_asked(command: list[str], published: Path, index: Index, tmp_path: Path) -> None:
    asked, done = hosts(command, tmp_path, published, {})
    assert asked <= {"127.0.0.1", "git https://github.com/deepseek-ai/DeepGEMM"}, done.stderr
    assert "Traceback" not in done.stderr
    if "--release" in command or "fetch" in command:
        assert index.requests


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[2], COMMANDS[3], COMMANDS[7]], ids=" ".join)
def test_offline_asks_nobody(command: list[str], published: Path, index: Index, tmp_path: Path) -> None:
    asked, done = hosts([*command, "--offline"], tmp_path, published, {})
    assert asked == set(), done.stderr
    assert index.requests == []
    if "TREE" in command:
        assert (done.returncode, done.stderr) == (1, ""), "the drift is found without any network"
    else:
        assert done.returncode == 5
        assert "offline: which releases of vllm there are" in done.stderr


def test_what_was_read_once_is_there_offline(published: Path, index: Index, tmp_path: Path) -> None:
    once = ["verdict", "--release", "vllm==1.0"]
    before = hosts(once, tmp_path, published, {})[1]
    asked, after = hosts([*once, "--offline"], tmp_path, published, {})
    assert (before.returncode, before.stdout) == (after.returncode, after.stdout)
    assert asked == set()


def test_the_recorder_sees_a_host(published: Path, tmp_path: Path) -> None:
    """Without it the tests above would prove nothing."""
    away = {"PIP_INDEX_URL": "http://elsewhere.invalid/simple"}
    asked, _ = hosts(["verdict", "--release", "vllm==1.0"], tmp_path, published, away)
    assert asked == {"elsewhere.invalid"}
