"""vLLM's own hooks on vLLM's releases: patch 0001 passes, each bad variant fails at the right hook."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pinproof.gate import GateResult
from pinproof.gates.patched import patched_files
from pinproof.gates.precommit import precommit_gate
from pinproof.gates.precommit.config import PATH, parse_config
from pinproof.gates.precommit.plan import plan_hooks
from pinproof.patchset.patchfile import Patch
from pinproof.releases import versions
from pinproof.tree import Tree

from tests.gates.patches import make_patch
from tests.real.checktrees import member, real_tree
from tests.trees import MODEL

pytestmark = pytest.mark.registry
# With cold caches mypy's environment and its first look at vLLM take two minutes on two busy cores.
with_mypy = pytest.mark.skipif(
    "PINPROOF_SKIP_MYPY_TESTS" in os.environ,
    reason="PINPROOF_SKIP_MYPY_TESTS is set: mypy on vLLM is not run",
)

NEW = "vllm/models/kimi_k3/nvidia/situ.py"
SPDX = (
    b"# SPDX-License-Identifier: Apache-2.0\n"
    b"# SPDX-FileCopyrightText: Copyright contributors to the vLLM project\n"
)
CALL = b"            situ_linear_beta=self.activation_linear_beta,\n"
CLASS = b"\nclass KimiK3MegaMoEExperts("


@pytest.fixture
def broken(patch: Patch) -> Tree:
    """vLLM 0.28.0 without the fix: main between 2026-08-12 and 2026-08-16."""
    return real_tree("0.28.0", [patch])


def by_outcome(result: GateResult, outcome: str) -> set[str]:
    return {item["hook"] for item in result.details["hooks"] if item["outcome"] == outcome}


@with_mypy
def test_patch_0001_passes_every_hook_of_0_28_0_at_both_stages(broken: Tree, patch: Patch) -> None:
    result = precommit_gate(broken, patch, offline=True)
    assert result.outcome == "pass", result.summary
    assert by_outcome(result, "pass") == {
        "ruff-check", "ruff-format", "typos", "mypy-3.10", "mypy-3.11", "mypy-3.12", "mypy-3.13",
        "signoff-commit", "check-spdx-header", "check-root-lazy-imports", "check-filenames",
        "update-dockerfile-graph", "check-forbidden-imports", "check-torch-cuda-call", "validate-config",
        "check-boolean-context-manager", "suggestion",
    }  # fmt: skip
    assert by_outcome(result, "skip") >= {"clang-format", "markdownlint-cli2", "actionlint", "rust-cargo-fmt"}
    assert result.details["diff"] == ""


def _after_call(line: bytes) -> Callable[[bytes], bytes]:
    return lambda source: source.replace(CALL, CALL + line)


BAD: dict[str, tuple[str, Callable[[bytes], bytes] | bytes]] = {
    "an unused import": ("ruff-check", lambda s: s.replace(b"import math\n", b"import json\nimport math\n")),
    "a line too long": ("ruff-check", _after_call(b"            # the pin" + b" moved," * 12 + b"\n")),
    "a misspelling": ("typos", _after_call(b"            # teh names of the pinned version\n")),
    "a layout not ruff's": ("ruff-format", lambda s: s.replace(b"linear_beta=self", b"linear_beta = self")),
    "a torch.cuda call": (
        "check-torch-cuda-call", lambda s: s.replace(CLASS, b"\nEMPTY = torch.cuda.empty_cache\n\n" + CLASS),
    ),
    "a new file without a licence": ("check-spdx-header", b"NAMES = 1\n"),
    "a forbidden import": (
        "check-forbidden-imports", SPDX + b'import base64\n\nNAME = base64.b64encode(b"situ")\n',
    ),
}  # fmt: skip


def bad_patch(tree: Tree, patch: Patch, change: Callable[[bytes], bytes] | bytes, *, mypy: bool) -> Patch:
    """Patch 0001 with something wrong in it, and with the mypy hooks taken out of the config or not."""
    good = patched_files(tree, patch)[MODEL]
    assert good is not None
    before = {MODEL: tree.read(MODEL), NEW: None, PATH: tree.read(PATH)}
    after = {**before, MODEL: good}
    if isinstance(change, bytes):
        after[NEW] = change
    else:
        after[MODEL] = change(good)
        assert after[MODEL] != good
    if not mypy:
        config = before[PATH]
        assert config is not None
        after[PATH] = re.sub(rb"(?m)^  - id: mypy-3.*\n(?:    .*\n)+", b"", config)
        assert after[PATH] != config
    return make_patch(before, after)


@pytest.mark.parametrize("what", BAD)
def test_each_bad_variant_fails_at_exactly_the_right_hook(broken: Tree, patch: Patch, what: str) -> None:
    # Without mypy, which finds nothing in these and takes most of the time.
    name, change = BAD[what]
    result = precommit_gate(broken, bad_patch(broken, patch, change, mypy=False), offline=True)
    assert (result.outcome, by_outcome(result, "fail")) == ("fail", {name})


@with_mypy
def test_a_type_error_fails_at_mypy_for_each_python_and_nowhere_else(broken: Tree, patch: Patch) -> None:
    def change(source: bytes) -> bytes:
        return source.replace(CLASS, b'\nSITU_KEYWORDS: int = "two"\n\n' + CLASS)

    result = precommit_gate(broken, bad_patch(broken, patch, change, mypy=True), offline=True)
    assert by_outcome(result, "fail") == {"mypy-3.10", "mypy-3.11", "mypy-3.12", "mypy-3.13"}


def test_the_packages_that_stand_in_run_on_the_files_of_0_33_0() -> None:
    tree = real_tree("0.33.0")
    touched = {
        "csrc/activation_kernels.cu": b"// touched\n",
        "tools/build_rust.sh": b"# touched\n",
        "docs/README.md": b"\nOne more line.\n",
        ".buildkite/performance-benchmarks/tests/genai-perf-tests.json": b"\n",
    }
    before = {path: tree.read(path) for path in touched}
    result = precommit_gate(
        tree,
        make_patch(before, {path: (before[path] or b"") + more for path, more in touched.items()}),
        offline=True,
    )
    replaced = {
        h["hook"]: h["outcome"] for h in result.details["hooks"] if " instead of " in (h["note"] or "")
    }
    assert replaced == dict.fromkeys(
        ("typos", "clang-format", "markdownlint-cli2", "shellcheck", "check-json"), "pass"
    )
    assert result.outcome == "pass", result.summary


@pytest.mark.parametrize("version", ["0.27.1", "0.28.0", "0.30.0", "0.33.0"])
def test_every_hook_of_a_release_is_mapped_or_local(version: str, tmp_path: Path) -> None:
    config = parse_config(member(version, PATH))
    reach = {(hook.repo, hook.rev or ""): False for hook in config.hooks if hook.remote}
    plans = plan_hooks(config, tmp_path, [], reach)
    assert len(plans) >= 30
    assert [plan.hook.key for plan in plans if plan.unavailable] == []
    assert all(plan.note for plan in plans if plan.hook.remote)
    for plan in plans:
        requirement = plan.spec.get("additional_dependencies", [""])[0]
        if plan.hook.remote and "==" in requirement:
            name, _, pinned = requirement.partition("==")
            known = versions(name)
            assert any(v == pinned or v.startswith(pinned.removesuffix("*")) for v in known), requirement


def test_npm_has_the_pinned_markdownlint() -> None:
    import shutil
    import subprocess

    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    done = subprocess.run(
        ["npm", "view", "--json", "markdownlint-cli2@0.21.0", "version"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    if done.returncode:
        pytest.skip(f"needs the npm registry: {done.stderr.strip()[:100]}")
    assert json.loads(done.stdout) == "0.21.0"
