"""What the check gate costs beside bare pre-commit, run after run, on patch 0001 and vLLM 0.28.0.

pytest tests/bench/test_check_bench.py --benchmark-enable --benchmark-columns=median,min,rounds
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pinproof.gates.patched import patched_files
from pinproof.gates.precommit import precommit_gate
from pinproof.gates.precommit.config import PATH, parse_config
from pinproof.gates.precommit.gate import _prepare, _runs_at, commit_message
from pinproof.gates.precommit.run import _config
from pinproof.gates.precommit.workspace import workspace
from pinproof.patchset.patchfile import Patch
from pytest_benchmark.fixture import BenchmarkFixture

from tests.real.checktrees import real_tree

pytestmark = [pytest.mark.registry, pytest.mark.benchmark(group="check 0001, vLLM 0.28.0, warm", warmup=True)]


def run_rounds(benchmark: BenchmarkFixture, function: Callable[[], Any]) -> Any:
    return benchmark.pedantic(function, rounds=7, warmup_rounds=1)  # type: ignore[no-untyped-call]


def test_bare_pre_commit_at_the_same_three_stages(
    benchmark: BenchmarkFixture, patch: Patch, tmp_path: Path
) -> None:
    tree = real_tree("0.28.0", [patch])
    with workspace(tree, patched_files(tree, patch)) as space:
        config = parse_config((space.root / PATH).read_bytes())
        job = _prepare(config, space, True, 900, lambda *event: None)
        message = tmp_path / "message"
        message.write_text(commit_message(patch))
        commands = []
        for stage, before, more in (
            ("pre-commit", (), job.files), ("manual", ("pre-commit",), job.files),
            ("commit-msg", (), ["--commit-msg-filename", str(message)]),
        ):  # fmt: skip
            plans = [
                p for p in job.plans if _runs_at(p, stage, before) and (p.applies or stage == "commit-msg")
            ]
            path = tmp_path / f"{stage}.yaml"
            path.write_bytes(_config(plans, config.settings, stage))
            commands.append(["run", "--config", str(path), "--hook-stage", stage, *more])
        env = {**os.environ, "PRE_COMMIT_HOME": str(job.where.home)}

        def bare() -> None:
            for command in commands:
                subprocess.run(
                    [sys.executable, "-m", "pre_commit", *command], cwd=space.root, env=env, check=True,
                    capture_output=True,
                )  # fmt: skip

        run_rounds(benchmark, bare)


def test_the_gate(benchmark: BenchmarkFixture, patch: Patch) -> None:
    tree = real_tree("0.28.0", [patch])
    result = run_rounds(benchmark, lambda: precommit_gate(tree, patch, offline=True))
    assert result.outcome == "pass"
