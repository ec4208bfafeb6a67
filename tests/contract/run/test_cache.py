"""A run is reused only where nothing that it rests on has changed; no crash and no second run harms it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pinproof.contract.check import check_tree
from pinproof.contract.model import Report
from pinproof.contract.run import cache
from pinproof.tree import open_tree

from tests.contract.small import KERNELS, drifts, write

ENGINE = {
    "vllm/__init__.py": "",
    "vllm/helper.py": "import kernels\ndef run(*args, **kwargs):\n    return kernels.f(*args, **kwargs)\n",
    "vllm/caller.py": "from vllm.helper import run\nrun(1, bad=2)\n",
    "vllm/other.py": "import kernels\nkernels.f(1)\n",
    "vllm/plain.py": "x = 1\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "library", {"kernels/__init__.py": "def f(a): ...\ndef g(a, bad=1): ...\n"})
    root = write(tmp_path / "tree", ENGINE)
    age(root)
    return root


def age(root: Path) -> None:
    """Make files look old enough for their stamps to be trusted."""
    for path in root.rglob("*.py"):
        os.utime(path, (time.time() - 3600, time.time() - 3600))


def run(root: Path, files: list[str] | None = None) -> Report:
    library = str(root.parent / "library")
    return check_tree(
        open_tree(root), libraries={"kernels": library}, watched=[KERNELS], files=files, cached=True
    )


def test_a_second_run_parses_nothing_and_says_the_same(root: Path) -> None:
    first, second = run(root), run(root)
    assert (first.files_parsed > 0, second.files_parsed) == (True, 0)
    assert (first.calls, first.files_seen) == (second.calls, second.files_seen)
    assert drifts(second) == [(2, "unexpected-keyword", ("bad",))]


def test_a_changed_file_is_checked_again_and_the_others_are_not(root: Path) -> None:
    run(root)
    (root / "vllm/other.py").write_text("import kernels\nkernels.f(1, worse=2)\n")
    report = run(root)
    assert [(c.file, c.drifts[0].names) for c in report.failing] == [
        ("vllm/caller.py", ("bad",)),
        ("vllm/other.py", ("worse",)),
    ]
    assert report.files_parsed == 1


def test_a_change_in_a_helper_reaches_its_callers(root: Path) -> None:
    run(root)
    (root / "vllm/helper.py").write_text(ENGINE["vllm/helper.py"].replace("kernels.f", "kernels.g"))
    assert run(root).failing == []


@pytest.mark.parametrize("change", ["add", "remove", "new export", "begins to reach"])
def test_a_change_of_another_kind_starts_anew(root: Path, change: str) -> None:
    run(root)
    if change == "add":
        (root / "vllm/new.py").write_text("from vllm.helper import run\nrun(1, new=2)\n")
    elif change == "remove":
        (root / "vllm/caller.py").unlink()
    elif change == "new export":
        (root / "vllm/other.py").write_text("from kernels import f as exported\n")
    else:
        (root / "vllm/plain.py").write_text("import kernels\nkernels.f(1, plain=2)\n")
    fresh = check_tree(
        open_tree(root), libraries={"kernels": str(root.parent / "library")}, watched=[KERNELS]
    )
    assert run(root).calls == fresh.calls


def test_a_changed_library_starts_anew(root: Path) -> None:
    run(root)
    (root.parent / "library/kernels/__init__.py").write_text("def f(a, bad=1): ...\n")
    assert run(root).failing == []


def test_some_files_are_answered_from_the_remembered_run(root: Path) -> None:
    run(root)
    report = run(root, files=["vllm/caller.py"])
    assert ([c.file for c in report.calls], report.files_parsed) == (["vllm/caller.py"], 0)


def test_some_files_are_checked_alone_when_nothing_is_remembered(root: Path) -> None:
    report = run(root, files=["vllm/caller.py"])
    assert drifts(report) == [(2, "unexpected-keyword", ("bad",))]


@pytest.mark.parametrize("damage", [b"", b"\x00\xff not msgpack", b"\x81"])
def test_a_damaged_cache_is_no_cache(root: Path, damage: bytes) -> None:
    run(root)
    cache.place(open_tree(root)).write_bytes(damage)
    assert drifts(run(root)) == [(2, "unexpected-keyword", ("bad",))]


def test_a_file_written_just_now_is_read_again_whatever_its_times_say(root: Path) -> None:
    stat = (root / "vllm/other.py").stat()
    hashes, _ = cache.digests(open_tree(root), ("vllm",), None)
    assert "vllm/other.py" in hashes
    (root / "vllm/other.py").write_text("import kernels\nkernels.g(2)\n")
    os.utime(root / "vllm/other.py", ns=(stat.st_mtime_ns, stat.st_mtime_ns))
    _, later = cache.digests(open_tree(root), ("vllm",), None)
    assert "vllm/other.py" not in later  # its ctime is now


SCRIPT = """
import sys
from pathlib import Path
from tests.contract.run.test_cache import run
for _ in range(int(sys.argv[2])):
    report = run(Path(sys.argv[1]))
    assert [c.file for c in report.failing] == ["vllm/caller.py"], report.failing
"""


def start(root: Path, times: int) -> subprocess.Popen[bytes]:
    repo = Path(__file__).parents[3]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(root), str(times)], cwd=repo, stderr=subprocess.PIPE
    )


def test_two_runs_at_once_do_not_harm_each_other(root: Path) -> None:
    both = [start(root, 25), start(root, 25)]
    assert [(p.communicate()[1], p.returncode) for p in both] == [(b"", 0), (b"", 0)]


def test_a_run_that_is_killed_leaves_a_whole_cache_or_none(root: Path) -> None:
    for delay in (0.15, 0.25, 0.3, 0.35, 0.4, 0.45):
        process = start(root, 400)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert drifts(run(root)) == [(2, "unexpected-keyword", ("bad",))]
