"""Benchmarks of the main commands: `pytest --benchmark-only tests/bench`; times are shown, never asserted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pinproof.patchset.apply import carry_out, plan_apply, plan_revert
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.patchset.verdict import judge
from pinproof.tree import open_tree

from tests.conftest import REPO
from tests.real.releases import checkout
from tests.trees import MODEL

Bench = Callable[..., Any]
PATCH = REPO / "patches/vllm/0001-kimi-k3-megamoe-situ-kwargs.patch"


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """vLLM 0.28.0 without the fix, as a git tree."""
    return checkout(
        "0.28.0", tmp_path_factory.mktemp("bench") / "vllm", [parse_patch(PATCH.read_bytes(), PATCH.name)]
    )


def run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)


def pinproof(*args: str) -> None:
    run(sys.executable, "-m", "pinproof", *args)


def test_start_up(benchmark: Bench) -> None:
    benchmark(pinproof, "--version")


@pytest.mark.registry
def test_bare_git_apply(benchmark: Bench, vllm: Path) -> None:
    """The floor that apply is measured against."""
    undo = ("git", "apply", "--reverse", str(PATCH))
    benchmark.pedantic(  # type: ignore[attr-defined]
        run,
        ("git", "apply", str(PATCH)),
        {"cwd": vllm},
        rounds=10,
        teardown=lambda *_, **__: run(*undo, cwd=vllm),
    )


@pytest.mark.registry
def test_apply_command_on_a_git_tree(benchmark: Bench, vllm: Path) -> None:
    def revert(*_: object) -> None:
        pinproof("apply", "--revert", str(vllm))

    benchmark.pedantic(pinproof, ("apply", str(vllm)), rounds=10, teardown=revert)  # type: ignore[attr-defined]
    assert b"situ_beta=self" not in (vllm / MODEL).read_bytes()


@pytest.mark.registry
def test_verdict_command_on_a_git_tree(benchmark: Bench, vllm: Path) -> None:
    benchmark.pedantic(pinproof, ("verdict", "0001", str(vllm)), rounds=10)  # type: ignore[attr-defined]


@pytest.mark.registry
def test_verdict_of_nine_releases_warm(benchmark: Bench) -> None:
    arguments = ("verdict", "--releases", "0.26.0..0.33.0")
    benchmark.pedantic(pinproof, arguments, rounds=5, warmup_rounds=1)  # type: ignore[attr-defined]


def test_verdict_in_process(benchmark: Bench, broken_tree: Path, patch: Patch) -> None:
    assert benchmark(judge, patch, open_tree(broken_tree)).verdict == "needed"


def test_apply_and_revert_in_process(benchmark: Bench, broken_tree: Path, patch: Patch) -> None:
    tree = open_tree(broken_tree)

    def there_and_back() -> None:
        carry_out(plan_apply([patch], tree, named=True), tree, series=[patch])
        carry_out(plan_revert([patch], tree, named=True), tree, series=[patch])

    benchmark(there_and_back)


def test_parsing_the_patch(benchmark: Bench, patch: Patch) -> None:
    assert benchmark(parse_patch, patch.raw, patch.name) == patch


def test_the_engine_on_a_file_of_a_million_lines(benchmark: Bench, patch: Patch) -> None:
    diff = patch.diffs[0]
    content = b"".join(diff.hunks[0].old()) + b"# filler\n" * 1_000_000
    assert benchmark(apply_diff, content, diff) != content
