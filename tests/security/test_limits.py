"""Hostile inputs cost a bounded time and memory and end in one line: no traceback, never code 1 or 70."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.security.attacks import HEAD, diff_text, small_tree

_MIB = 1 << 20
LARGEST_MIB = 300
LONGEST_S = 10.0


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it cost."""

    code: int
    output: str
    cpu_s: float
    peak_mib: float


# A process counts as its own the memory of the one that forked it, here that of pytest: a small one forks.
_MEASURE = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
with open(sys.argv[1], "w") as out:
    print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=out)
"""


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Ended:
    """Run pinproof in a process of its own and measure it alone."""
    log, cost = cwd / "output", cwd / "cost"
    command = [sys.executable, "-m", "pinproof", *arguments]
    with log.open("wb") as out:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _MEASURE, cost, *command], cwd=cwd, stdout=out, stderr=out,
            env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    code, cpu, peak = cost.read_text().split()
    return Ended(int(code), log.read_text(errors="replace"), float(cpu), float(peak))


def held(ended: Ended) -> None:
    assert "Traceback" not in ended.output
    assert ended.code not in (1, 70), ended.output[-500:]
    assert ended.cpu_s < LONGEST_S
    assert ended.peak_mib < LARGEST_MIB


def sparse(path: Path, size: int) -> None:
    """A file that claims a size and takes no room."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.truncate(size)


def huge(name: str) -> Callable[[Path], None]:
    return lambda root: sparse(root / name, 1 << 40)


def large_text(name: str) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b'Requires-Dist: a==1\nset(A "b")\nARG A=1\na==1\n' * (8 * _MIB // 46))

    return make


def link_to_huge(root: Path) -> None:
    sparse(root / "data/huge", 1 << 40)
    (root / "vllm/model.py").symlink_to("../data/huge")


def many_requirements(root: Path) -> None:
    lines = "".join(f"Requires-Dist: package-{number}==1.0\n" for number in range(40_000))
    (root / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: 1.0\n{lines}\n")


def deep_folders(root: Path) -> None:
    here = os.open(root / "vllm", os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("a.py", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


def odd_names(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/vllm/\xff\xfe.py")).write_text("import deep_gemm\n")


def one_literal(root: Path) -> None:
    (root / "vllm/literal.py").write_bytes(b"import deep_gemm\nx = [" + b"1," * (4 * _MIB) + b"]\n")


TREES = {
    "a requirements file of a terabyte": huge("requirements/cuda.txt"),
    "a Dockerfile of a terabyte": huge("docker/Dockerfile"),
    "PKG-INFO of a terabyte": huge("PKG-INFO"),
    "METADATA of a terabyte": huge("vllm-1.0.dist-info/METADATA"),
    "cmake of a terabyte": huge("cmake/external_projects/deepgemm.cmake"),
    "a module of a terabyte": huge("vllm/model.py"),
    "a link to a terabyte": link_to_huge,
    "8 MiB of requirements": large_text("requirements/cuda.txt"),
    "8 MiB of PKG-INFO": large_text("PKG-INFO"),
    "40,000 Requires-Dist lines": many_requirements,
    "1,500 nested folders": deep_folders,
    "names that are not UTF-8": odd_names,
    "a literal of 8 MiB": one_literal,
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("command", ["pins --json", "contract --sarif"])
def test_a_hostile_tree(name: str, command: str, tmp_path: Path) -> None:
    root = small_tree(tmp_path / "tree")
    try:
        TREES[name](root)
        held(run(*command.split(), "--offline", str(root), cwd=tmp_path))
    finally:  # too deep for shutil.rmtree, which clears pytest's folders away
        subprocess.run(["rm", "-rf", str(root)], check=True)


def literal_patch() -> bytes:
    return HEAD + diff_text("vllm/a.py", None, b"x = '" + b"a" * (8 * _MIB - 2000) + b"'\n")


def many_files() -> bytes:
    return HEAD + b"".join(diff_text(f"v/{number}.py", None, b"x\n") for number in range(20_000))


def endless() -> bytes:
    return HEAD + diff_text("vllm/a.py", None, b"x" * (9 * _MIB) + b"\n")


@pytest.mark.parametrize("patch", [literal_patch, many_files, endless])
def test_a_hostile_patch(patch: Callable[[], bytes], tmp_path: Path) -> None:
    root = small_tree(tmp_path / "tree")
    (tmp_path / "0009-evil.patch").write_bytes(patch())
    held(run("apply", "--force", "--offline", "0009-evil.patch", str(root), cwd=tmp_path))


@pytest.mark.parametrize("record", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff" * 1000, b"1" * 100_000])
def test_a_hostile_record(record: bytes, tmp_path: Path) -> None:
    root = small_tree(tmp_path / "tree")
    (tmp_path / "r.json").write_bytes(record)
    held(run("evidence", "add", "r.json", "0001", str(root), cwd=tmp_path))


@pytest.mark.parametrize("what", ["record", "patch", "journal"])
def test_a_pipe_is_no_file(what: str, tmp_path: Path) -> None:
    root = small_tree(tmp_path / "tree")
    pipe = root / ".pinproof-journal" if what == "journal" else tmp_path / "pipe.patch"
    os.mkfifo(pipe)
    command = {
        "record": ["evidence", "add", str(pipe), "0001", str(root)],
        "patch": ["apply", str(pipe), str(root)],
        "journal": ["apply", "0001", str(root)],
    }[what]
    ended = run(*command, cwd=tmp_path)
    held(ended)
    assert ended.code == 2


def test_settings_of_git_that_are_none(tmp_path: Path) -> None:
    root = small_tree(tmp_path / "tree")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    ended = run("apply", "0001", str(root), cwd=tmp_path, env={"GIT_CONFIG_COUNT": "x"})
    held(ended)
    assert ended.code == 2


def test_a_path_that_is_not_ascii_in_an_ascii_locale(tmp_path: Path) -> None:
    root = small_tree(tmp_path / "tree-größe-日本")
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    held(run("pins", str(root), cwd=tmp_path, env=env))
    held(run("pins", "--json", str(root), cwd=tmp_path, env=env))
