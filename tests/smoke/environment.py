"""An interpreter that can import vLLM's Kimi model on a CPU, and the trees to import: made once, cached."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from functools import lru_cache
from pathlib import Path

import pytest
from pinproof.errors import CannotCheck
from pinproof.paths import cache_dir, file_lock
from pinproof.releases import download_sdist
from pinproof.tree import Tree, open_tree

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
TORCH = "torch==2.13.0"
GIVEN = "PINPROOF_SMOKE_PYTHON"
_LIMIT_S = 600


@lru_cache(maxsize=1)
def smoke_python() -> str:
    """The interpreter: the one that PINPROOF_SMOKE_PYTHON names, else one made in pinproof's cache.

    Only a CPU build of torch is ever installed; where pip would take a CUDA build of several GB the
    tests that need it are skipped with that reason.
    """
    given = os.environ.get(GIVEN)
    if given:
        return given
    stamp = hashlib.sha256(REQUIREMENTS.read_bytes() + f"{TORCH} {sys.version}".encode()).hexdigest()[:12]
    folder = cache_dir("smoke", "test-venvs") / stamp
    with file_lock(
        folder.with_suffix(".lock"), wait_s=_LIMIT_S, busy="another test run makes the interpreter"
    ):
        if not (folder / "ready").exists():
            _make(folder)
    return str(folder / "bin" / "python")


def _make(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    python = str(folder / "bin" / "python")
    _call([sys.executable, "-m", "venv", str(folder)])
    _refuse_cuda(python)
    _call([python, "-m", "pip", "install", "-q", TORCH])
    install = (
        ["uv", "pip", "install", "-q", "-p", python]
        if shutil.which("uv")
        else [python, "-m", "pip", "install", "-q"]
    )
    _call([*install, "--no-deps", "-r", str(REQUIREMENTS)])
    (folder / "ready").touch()


def _refuse_cuda(python: str) -> None:
    """Ask pip what it would take, without downloading it."""
    asked = [python, "-m", "pip", "install", "-q", "--dry-run", "--no-deps", "--report", "-", TORCH]
    report = json.loads(_call(asked))
    version = report["install"][0]["metadata"]["version"]
    if not version.endswith("+cpu") and sys.platform == "linux":
        pytest.skip(f"pip would install torch {version}, a CUDA build of several GB; set {GIVEN}")


def _call(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"cannot make an interpreter with torch: {error}")
    if done.returncode:
        pytest.skip(f"cannot make an interpreter with torch: {done.stderr.strip()[-300:]}")
    return done.stdout


def release_sources(version: str) -> Tree:
    """A release's Python files and pins as a plain tree, unpacked once from its sdist."""
    folder = cache_dir("smoke", "test-trees") / f"vllm-{version}"
    with file_lock(folder.with_suffix(".lock"), wait_s=_LIMIT_S, busy="another test run unpacks the sdist"):
        if not folder.is_dir():
            try:
                _unpack(download_sdist("vllm", version), folder)
            except CannotCheck as error:
                pytest.skip(error.message)
    return open_tree(folder)


def _unpack(sdist: Path, folder: Path) -> None:
    staging = folder.with_suffix(".part")
    shutil.rmtree(staging, ignore_errors=True)
    wanted = ("vllm/", "cmake/external_projects/", "requirements/", "PKG-INFO", "tools/install_deepgemm.sh")
    with tarfile.open(sdist) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if member.isreg() and name.startswith(wanted):
                member.name = name
                archive.extract(member, staging, filter="data")
    staging.rename(folder)
