"""A small vLLM-shaped tree in the state of August 2026, the real patch as it stood then, and a store."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.policy import Policy, load_policy
from pinproof.submit.records import Person, ReviewRecord
from pinproof.submit.review import Answers, make_review
from pinproof.submit.store import Store
from pinproof.tree import Tree, open_tree

NAME = "0001-kimi-k3-megamoe-situ-kwargs.patch"
MODEL = "vllm/models/kimi_k3/nvidia/model.py"
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=timezone.utc)
REAL = Path(__file__).resolve().parents[2] / "patches/vllm" / NAME

BROKEN = """\
import torch


class KimiK3MegaMoEExperts(DeepseekV4MegaMoEExperts):
    def forward(self, y, symm_buffer, activation_clamp=None, fast_math=True):
        from vllm.utils.deep_gemm import _import_deep_gemm

        deep_gemm = _import_deep_gemm()
        deep_gemm.fp8_fp4_mega_moe(
            y,
            self._transformed_l1_weights,
            self._transformed_l2_weights,
            symm_buffer,
            activation_clamp=activation_clamp,
            activation=self.activation,
            activation_beta=self.activation_beta,
            activation_linear_beta=self.activation_linear_beta,
            fast_math=fast_math,
        )
        return y
"""
HELPER = """\
import functools
import importlib


@functools.cache
def _import_deep_gemm():
    try:
        return importlib.import_module("deep_gemm")
    except ImportError:
        pass
    try:
        return importlib.import_module("vllm.third_party.deep_gemm")
    except ImportError:
        return None
"""
FIXED = BROKEN.replace("activation_beta=self", "situ_beta=self").replace(
    "activation_linear_beta=self", "situ_linear_beta=self"
)
TEMPLATE_028 = """\
<!-- markdownlint-disable -->
PLEASE FILL IN THE PR DESCRIPTION HERE ENSURING ALL CHECKLIST ITEMS (AT THE BOTTOM) HAVE BEEN CONSIDERED.

## Purpose

## Test Plan

## Test Result

---
<details>
<summary> Essential Elements of an Effective PR Description Checklist </summary>

- [ ] The purpose of the PR, such as "Fix some issue (link existing issues this PR will resolve)".
- [ ] The test plan, such as providing test command.
- [ ] The test results, such as pasting the results comparison before and after, or e2e results
- [ ] (Optional) The necessary documentation update, such as updating `supported_models.md`.
</details>

**BEFORE SUBMITTING, PLEASE READ <https://docs.vllm.ai/en/latest/contributing>**
"""
TEMPLATE_033 = """\
<!-- markdownlint-disable -->

## Overview

<!-- Summarize the change in 1-2 lines. Link relevant issues and PRs. -->

## Claims

## Validation

## Details

---

<details>
<summary> Pull Request Checklist </summary>

- [ ] I used vLLM's `/pr-checklist` skill. (Mandatory for agents, optional for humans).
- [ ] AI assistance was used during the creation of this PR.

- [ ] **Design Fit:** Minimizes impact on core components.
- [ ] **Code Quality and Style:** Keeps code and comments clear and concise.
</details>

**BEFORE SUBMITTING, PLEASE READ <https://docs.vllm.ai/en/latest/contributing>**
"""
FILES = {
    "vllm/__init__.py": "",
    "vllm/utils/deep_gemm.py": HELPER,
    MODEL: BROKEN,
    "pyproject.toml": '[project]\nname = "vllm"\nrequires-python = ">=3.10,<3.15"\n',
    ".pre-commit-config.yaml": "repos: []\n",
    ".github/PULL_REQUEST_TEMPLATE.md": TEMPLATE_028,
    "cmake/external_projects/deepgemm.cmake": (
        'set(DEEPGEMM_GIT_TAG "8b1392b978f5a03c828dd1711090d7fb50958b8a")\n'
        "FetchContent_Declare(\n  deepgemm\n"
        "  GIT_REPOSITORY https://github.com/deepseek-ai/DeepGEMM.git\n"
        "  GIT_TAG ${DEEPGEMM_GIT_TAG}\n)\n"
    ),
}


def as_of_august(raw: bytes) -> bytes:
    """The real patch with the fields it had before upstream merged it."""
    raw = re.sub(rb"^Upstream-Status: .*", b"Upstream-Status: Pending", raw, flags=re.MULTILINE)
    raw = re.sub(rb"^Applied-Upstream: .*\n", b"", raw, flags=re.MULTILINE)
    return re.sub(rb"^Origin: .*", b"Origin: vendor, https://example.org/fix", raw, flags=re.MULTILINE)


def write_tree(root: Path, **changed: str) -> Path:
    for path, text in {**FILES, **changed}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def git(cwd: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PERSON = Person(name="Test Person", email="test@example.org")


def review_of(
    patch: Patch,
    tree: Tree,
    *,
    person: Person = PERSON,
    now: datetime = NOW,
    assistants: list[str] | None = None,
) -> ReviewRecord:
    """A review of every hunk, as `pinproof review` records it."""
    return make_review(patch, tree, person, Answers(assistants=assistants or []), now)


@pytest.fixture(autouse=True)
def _no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GH_TOKEN", "GITHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def patch() -> Patch:
    return parse_patch(as_of_august(REAL.read_bytes()), NAME)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return open_tree(write_tree(tmp_path / "tree"))


@pytest.fixture
def policy() -> Policy:
    return load_policy("vllm")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "patches" / "evidence")


@dataclass(frozen=True)
class Hub:
    """Upstream and a fork as bare repositories, and a person's clone of both."""

    upstream: Path
    fork: Path
    clone: Path

    def tree(self) -> Tree:
        return open_tree(self.clone)

    def advance(self, path: str, text: str) -> str:
        """Commit a change of one file to upstream's main; the new commit."""
        work = self.upstream.parent / "work"
        git(self.upstream, "worktree", "add", "-q", "--detach", str(work), "main")
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
        git(work, "add", "-A")
        git(work, "commit", "-qm", f"change {path}")
        commit = git(work, "rev-parse", "HEAD")
        git(self.upstream, "worktree", "remove", "--force", str(work))
        git(self.upstream, "update-ref", "refs/heads/main", commit)
        return commit


@pytest.fixture(scope="session")
def hub_template(tmp_path_factory: pytest.TempPathFactory, quiet_git: None) -> Path:
    """The three repositories, made once; tests copy them."""
    top = tmp_path_factory.mktemp("hub")
    source = write_tree(top / "source")
    git(source, "init", "-q", "-b", "main")
    git(source, "add", "-A")
    git(source, "commit", "-qm", "the state of August")
    for bare in ("vllm-project", "test"):
        git(top, "clone", "-q", "--bare", str(source), f"hub/{bare}/vllm.git")
    git(top, "clone", "-q", "-o", "upstream", str(top / "hub/vllm-project/vllm.git"), "clone")
    git(top / "clone", "remote", "add", "fork", str(top / "hub/test/vllm.git"))
    return top


@pytest.fixture
def hub(tmp_path: Path, hub_template: Path) -> Hub:
    for part in ("hub", "clone"):
        shutil.copytree(hub_template / part, tmp_path / part, symlinks=True)
    config = tmp_path / "clone/.git/config"
    config.write_text(config.read_text().replace(str(hub_template), str(tmp_path)))
    return Hub(tmp_path / "hub/vllm-project/vllm.git", tmp_path / "hub/test/vllm.git", tmp_path / "clone")
