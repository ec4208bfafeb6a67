"""A snapshot made once serves every later run, offline too."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.contract.check import check_tree
from pinproof.contract.declared.snapshot import decode
from pinproof.contract.sources import memory
from pinproof.errors import CannotCheck
from pinproof.tree import open_tree

from tests.contract.small import write


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return write(tmp_path / "clone", {"flashinfer/__init__.py": "def f(a): ...\n"})


def test_a_snapshot_file_is_taken_as_a_library(library: Path, tmp_path: Path) -> None:
    target = tmp_path / "flashinfer.json"
    assert main(["snapshot", "flashinfer", str(library), "--version", "9.9", "-o", str(target)]) == 0
    assert decode(target.read_bytes()).version == "9.9"
    root = write(
        tmp_path / "tree", {"vllm/__init__.py": "", "vllm/m.py": "import flashinfer\nflashinfer.f(b=1)\n"}
    )
    report = check_tree(open_tree(root), libraries={"flashinfer": str(target)})
    assert [call.drifts[0].names for call in report.failing] == [("b",)]


def test_a_snapshot_kept_in_the_cache_serves_the_pin_without_a_network(library: Path, tmp_path: Path) -> None:
    assert main(["snapshot", "flashinfer", str(library), "--version", "9.9"]) == 0
    memory.signature_file("flashinfer", "9.9").rename(memory.signature_file("flashinfer-python", "9.9"))
    root = write(
        tmp_path / "tree", {"vllm/__init__.py": "", "vllm/m.py": "import flashinfer\nflashinfer.f(b=1)\n"}
    )
    (root / "requirements").mkdir()
    (root / "requirements/cuda.txt").write_text("flashinfer-python==9.9\n")
    report = check_tree(open_tree(root))
    assert [(u.library, u.version) for u in report.libraries] == [("flashinfer", "9.9")]
    assert len(report.failing) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["unwatched", "1"],
        ["flashinfer"],
        ["flashinfer", "/nowhere/at/all"],
        ["flashinfer", "1", "--vendored-in", "x==1"],
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["snapshot", *arguments]) == 2
    assert capsys.readouterr().err.startswith("pinproof snapshot: ")


def test_an_answer_of_the_index_is_asked_once_a_day_and_outlives_the_network() -> None:
    asked: list[int] = []

    def ask() -> str:
        asked.append(1)
        if len(asked) > 1:
            raise CannotCheck("down")
        return "1.0"

    assert [memory.recall("newest x", ask) for _ in range(3)] == ["1.0"] * 3
    assert len(asked) == 1


def test_a_fetch_that_failed_a_moment_ago_is_not_tried_again() -> None:
    memory.refuse_again("x")
    memory.remember_refusal("x", CannotCheck("cannot reach it"))
    with pytest.raises(CannotCheck, match=r"cannot reach it \(tried 0 s ago\)"):
        memory.refuse_again("x")


def wheel(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_a_wheel_on_disk_is_taken_as_a_library(tmp_path: Path) -> None:
    members = {"flashinfer/__init__.py": b"def f(a): ...", "../evil.py": b"", "flashinfer/../../x.py": b""}
    path = wheel(tmp_path / "flashinfer_python-9.9-py3-none-any.whl", members)
    root = write(
        tmp_path / "tree", {"vllm/__init__.py": "", "vllm/m.py": "import flashinfer\nflashinfer.f(b=1)\n"}
    )
    report = check_tree(open_tree(root), libraries={"flashinfer": str(path)})
    assert [(u.version, u.source) for u in report.libraries] == [("9.9", "given as --library")]
    assert [call.drifts[0].names for call in report.failing] == [("b",)]


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04 cut"])
def test_a_damaged_wheel_is_said_to_be_unchecked(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "flashinfer_python-9.9-py3-none-any.whl"
    path.write_bytes(data)
    root = write(
        tmp_path / "tree", {"vllm/__init__.py": "", "vllm/m.py": "import flashinfer\nflashinfer.f(b=1)\n"}
    )
    report = check_tree(open_tree(root), libraries={"flashinfer": str(path)})
    assert ["is not a wheel" in u.reason for u in report.unchecked] == [True]
