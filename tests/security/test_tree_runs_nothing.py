"""A tree that holds a program in every place where some tool would run one: the static commands run none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pinproof.patchset.patchfile import Patch

from tests.trees import MODEL, SITU, make_tree

# Files that Python, pytest, pip or mypy would run or import from where they stand.
PYTHON_TRAPS = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py", "pinproof.py", "msgspec.py",
    "noxfile.py", "json.py", "rich.py", "git.py", "packaging/__init__.py", "requests/__init__.py",
    "vllm/__init__.py", "vllm/_version.py", "vllm/third_party/deep_gemm/__init__.py",
    "vllm/utils/__init__.py", "build_backend.py", "deep_gemm/__init__.py", "mypy_plugin.py",
)  # fmt: skip
GIT_CONFIG = """
[core]
    fsmonitor = "touch {canary}-fsmonitor; false"
    hooksPath = {root}/hooks
    pager = "touch {canary}-pager; cat"
    editor = "touch {canary}-editor"
    sshCommand = "touch {canary}-ssh"
    askPass = "touch {canary}-askpass"
    gitProxy = "touch {canary}-proxy"
    alternateRefsCommand = "touch {canary}-refs"
[include]
    path = {root}/more.config
[extensions]
    worktreeConfig = true
[filter "plain"]
    clean = "touch {canary}-clean; cat"
    smudge = "touch {canary}-smudge; cat"
    process = "touch {canary}-process; false"
    required = true
[filter "a=b"]
    clean = "touch {canary}-equals; cat"
[diff]
    external = "touch {canary}-diff"
[diff "plain"]
    textconv = "touch {canary}-textconv; cat"
    command = "touch {canary}-command"
[merge "plain"]
    driver = "touch {canary}-merge"
[gpg]
    program = {root}/hooks/pre-commit
[commit]
    gpgSign = true
[credential]
    helper = "!touch {canary}-credential"
[alias]
    status = "!touch {canary}-alias"
[remote "origin"]
    url = "ext::sh -c 'touch {canary}-ext' %S"
    promisor = true
    partialclonefilter = blob:none
    uploadpack = "touch {canary}-uploadpack"
[submodule "sub"]
    update = "!touch {canary}-submodule"
"""
COMMANDS: Sequence[tuple[str, ...]] = (
    ("verdict", "."), ("pins", "."), ("ready", "."), ("ready", ".", "--json"), ("apply", ".", "--dry-run"),
    ("apply", "."), ("export", ".", "--check"), ("apply", ".", "--revert"), ("lint",),
    ("snapshot", "deep_gemm", "."), ("contract", "."), ("contract", "--files", MODEL),
    ("evidence", "list", "0001", "."),
)  # fmt: skip


@pytest.fixture
def trap(tmp_path: Path, patch: Patch) -> Path:
    """A git checkout on which the patch is needed, and which is hostile everywhere else."""
    root = make_tree(tmp_path / "tree", patch, fixed=False, declares=SITU)
    library = (root / "vllm/third_party/deep_gemm/__init__.py").read_text()
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    canary = tmp_path / "canary"
    for name in PYTHON_TRAPS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        kept = library if "deep_gemm/__init__" in name and "vllm" in name else ""
        (root / name).write_text(
            f"import pathlib; pathlib.Path({f'{canary}-{Path(name).stem}'!r}).touch()\n{kept}"
        )
    (root / "evil.pth").write_text(f"import pathlib; pathlib.Path('{canary}-pth').touch()\n")
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "build_backend"\nbackend-path = ["."]\n'
        '[tool.pytest.ini_options]\naddopts = "-p conftest"\n[tool.mypy]\nplugins = ["mypy_plugin.py"]\n'
    )
    set_git_traps(root, canary)
    return root


def set_git_traps(root: Path, canary: Path) -> None:
    hooks = root / "hooks"
    hooks.mkdir()
    for hook in (
        "pre-commit",
        "post-index-change",
        "post-checkout",
        "reference-transaction",
        "applypatch-msg",
    ):
        for folder in (hooks, root / ".git/hooks"):
            folder.mkdir(exist_ok=True)
            (folder / hook).write_text(f"#!/bin/sh\ntouch {canary}-hook\n")
            (folder / hook).chmod(0o755)
    (root / ".gitattributes").write_text("*.py filter=a=b diff=plain merge=plain\nsetup.py filter=plain\n")
    (root / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
    (root / "more.config").write_text(f'[filter "included"]\n\tclean = "touch {canary}-included; cat"\n')
    worktree = f'[filter "worktree"]\n\tclean = "touch {canary}-worktree; cat"\n'
    (root / ".git/config.worktree").write_text(worktree)
    with (root / ".git/config").open("a") as config:
        config.write(GIT_CONFIG.format(canary=canary, root=root))
    os.utime(root / MODEL, (1, 1))  # git must look into the file again


@pytest.mark.parametrize("attribute", ["a=b", "plain", "included", "worktree"])
def test_no_static_command_runs_anything_of_the_tree(trap: Path, tmp_path: Path, attribute: str) -> None:
    (trap / ".gitattributes").write_text(f"*.py filter={attribute} diff=plain merge=plain\n")
    program = Path(sys.executable).parent / "pinproof"
    env = {**os.environ, "HOME": str(tmp_path), "PIP_INDEX_URL": "http://127.0.0.1:9/simple/"}
    statuses = {}
    for command in COMMANDS:
        done = subprocess.run(
            [program, *command], cwd=trap, env=env, check=False, capture_output=True, text=True
        )
        assert "Traceback" not in done.stderr, done.stderr
        statuses[command] = done.returncode
    assert sorted(path.name for path in tmp_path.glob("canary*")) == []
    assert statuses["verdict", "."] == statuses["apply", "."] == statuses["apply", ".", "--revert"] == 0


def test_the_traps_do_go_off_for_who_runs_the_tree(trap: Path, tmp_path: Path) -> None:
    """Otherwise the test above would pass on harmless files."""
    subprocess.run(["git", "add", "-A"], cwd=trap, check=False, capture_output=True)
    subprocess.run(
        [sys.executable, "-c", "import conftest, vllm"], cwd=trap, check=False, capture_output=True
    )
    sprung = {path.name for path in tmp_path.glob("canary*")}
    assert {"canary-fsmonitor", "canary-equals", "canary-process", "canary-conftest"} <= sprung


def test_a_submodules_own_settings_are_not_obeyed(trap: Path, tmp_path: Path) -> None:
    """git asks a submodule's own repository about changes there, with that repository's settings."""
    inner = trap / "sub"
    inner.mkdir()
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *arguments], cwd=inner, check=True)
    subprocess.run(["git", "-c", "core.fsmonitor=", "update-index", "--add", "--cacheinfo",
                    f"160000,{'1' * 40},sub"], cwd=trap, check=True)  # fmt: skip
    with (inner / ".git/config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "touch {tmp_path}/inner; false"\n')
    (tmp_path / "inner").unlink(missing_ok=True)
    program = Path(sys.executable).parent / "pinproof"
    for command in (("verdict", "."), ("apply", "."), ("apply", ".", "--revert")):
        subprocess.run([program, *command], cwd=trap, check=True, capture_output=True)
    assert not (tmp_path / "inner").exists()
