"""How long the contract gate takes beside `ruff check --select E9`, which only parses.

pytest tests/bench/test_contract_bench.py --benchmark-enable --benchmark-only
PINPROOF_BENCH_TREE=DIR to use a tree that is there already
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.real.releases import checkout

pytestmark = pytest.mark.registry
FILE = "vllm/models/kimi_k3/nvidia/model.py"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("PINPROOF_BENCH_TREE")
    return Path(given) if given else checkout("0.28.0", tmp_path_factory.mktemp("bench") / "vllm", [])


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in (0, 1, 5), done.stderr


def contract(tree: Path, *more: str) -> None:
    run(sys.executable, "-m", "pinproof", "contract", str(tree), "--json", *more)


def test_ruff(benchmark: BenchmarkFixture, tree: Path) -> None:
    ruff = str(Path(sys.executable).with_name("ruff"))
    benchmark(run, ruff, "check", "--no-cache", "--isolated", "--select", "E9", str(tree))


def test_cold(benchmark: BenchmarkFixture, tree: Path) -> None:
    contract(tree, "--no-cache")
    benchmark(contract, tree, "--no-cache")


def test_warm(benchmark: BenchmarkFixture, tree: Path) -> None:
    contract(tree)
    benchmark(contract, tree)


def test_one_changed_file(benchmark: BenchmarkFixture, tree: Path) -> None:
    path = tree / FILE
    text = path.read_bytes()
    contract(tree)
    turns = iter(range(10_000))
    try:
        benchmark.pedantic(  # type: ignore[no-untyped-call]
            lambda: contract(tree, "--files", str(path)),
            setup=lambda: path.write_bytes(text + b"# %d\n" % next(turns)) and None,
            rounds=8,
        )
    finally:
        path.write_bytes(text)
