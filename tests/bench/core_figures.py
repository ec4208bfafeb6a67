"""The core's figures in docs/performance.md: each command in turn, several rounds, wall, CPU and memory.

    python -m tests.bench.core_figures [--rounds 10]

The commands take turns, so that a busy moment of the machine hits all of them. CPU is user plus system of
the process and its children.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pinproof.fetch import fetch_release
from pinproof.patchset.series import find_patch, patch_dir

Measured = tuple[float, float]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "vllm"
        fetch_release("vllm", "0.28.0", tree, [find_patch("0001")])
        local(tree, rounds)
        releases(Path(name) / "cache")
    return 0


def local(tree: Path, rounds: int) -> None:
    patch = str(patch_dir().resolve() / find_patch("0001").name)
    steps: dict[str, Callable[[], Measured]] = {
        "git apply": lambda: timed("git", "-C", str(tree), "apply", patch),
        "git apply -R": lambda: timed("git", "-C", str(tree), "apply", "-R", patch),
        "pinproof --version": lambda: pinproof("--version"),
        "pinproof verdict TREE": lambda: pinproof("verdict", str(tree)),
        "pinproof apply TREE": lambda: pinproof("apply", str(tree)),
        "pinproof apply --revert TREE": lambda: pinproof("apply", "--revert", str(tree)),
    }
    taken: dict[str, list[Measured]] = {name: [] for name in steps}
    for _ in range(rounds + 1):
        for name, step in steps.items():
            taken[name].append(step())
    for name, all_of_them in taken.items():
        show(name, all_of_them[1:])  # the first round writes bytecode
    print(f"peak memory of pinproof verdict TREE: {peak_mib('verdict', str(tree)):.0f} MiB")


def releases(cache: Path) -> None:
    arguments = ("verdict", "--releases", "0.26.0..0.33.0")
    show("nine releases, cold", [pinproof(*arguments, cache=cache)])
    show("nine releases, warm", [pinproof(*arguments, cache=cache) for _ in range(5)])


def pinproof(*arguments: str, cache: Path | None = None) -> Measured:
    return timed(sys.executable, "-m", "pinproof", *arguments, cache=cache)


def timed(*command: str, cache: Path | None = None) -> Measured:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    if cache is not None:
        env["PINPROOF_CACHE"] = str(cache)
    before, started = cpu(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=env)
    return time.perf_counter() - started, cpu() - before


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_mib(*arguments: str) -> float:
    """The peak of one process, asked of a Python that starts nothing else (ru_maxrss is in KiB on Linux)."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True, check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", code, sys.executable, "-m", "pinproof", *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def show(name: str, taken: list[Measured]) -> None:
    walls, cpus = zip(*taken, strict=True)
    print(
        f"{name:30} wall {min(walls):6.3f} s (median {statistics.median(walls):.3f})   "
        f"CPU {min(cpus):6.3f} s (median {statistics.median(cpus):.3f})"
    )


if __name__ == "__main__":
    sys.exit(main())
