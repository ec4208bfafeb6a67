"""The golden record is the same bytes each time, and what a change changes is said line by line."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from pinproof.contract.model import Report

from tests.conftest import REPO
from tests.contract.small import check

FAILS = "import kernels\nkernels.f(1, bad=2)\nkernels.unknown.g(1)\n"
GUARDED = "import kernels\ntry:\n    kernels.f(1, bad=2)\nexcept TypeError:\n    pass\n"
LIBRARY = "from elsewhere import unknown\ndef f(a): ...\n"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("golden", REPO / "tools/ci/golden.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


golden = _load()


def report(root: Path, engine: str, library: str = LIBRARY) -> Report:
    return check(root, engine, library)


def made(root: Path, engine: str, library: str = LIBRARY) -> dict[str, Any]:
    """A record after it was written and read again."""
    record: dict[str, Any] = json.loads(golden.text(golden.record(report(root, engine, library), {})))
    return record


def test_two_runs_give_equal_bytes(tmp_path: Path) -> None:
    texts = [golden.text(golden.record(report(tmp_path, FAILS), {})) for _ in range(2)]
    assert texts[0] == texts[1]


def test_a_record_holds_findings_guards_and_counts(tmp_path: Path) -> None:
    record = made(tmp_path, FAILS + GUARDED)
    assert [(f["line"], f["code"], f.get("guard")) for f in record["findings"]] == [
        (2, "KC101", None),
        (6, "KC101", "line 7: except TypeError"),
    ]
    assert (record["libraries"]["kernels"]["bound"], record["files"]) == (2, 2)
    assert sum(record["libraries"]["kernels"]["open"].values()) == 1


def test_nothing_is_said_where_nothing_changed(tmp_path: Path) -> None:
    assert list(golden.changes(made(tmp_path, FAILS), made(tmp_path, FAILS))) == []


@pytest.mark.parametrize(("before", "now", "word"), [(FAILS, "", "gone"), ("", FAILS, "new ")])
def test_findings_that_come_and_go_are_named(tmp_path: Path, before: str, now: str, word: str) -> None:
    lines = list(golden.changes(made(tmp_path, before), made(tmp_path, now)))
    assert lines[0].startswith(f"{word} ")
    assert "vllm/m.py:2:1: KC101 kernels.f() takes no keyword 'bad'" in lines[0]


def test_a_finding_that_a_guard_now_hides_is_shown_both_ways(tmp_path: Path) -> None:
    before, now = made(tmp_path, FAILS), made(tmp_path, "import kernels\n" + GUARDED)
    lines = [line for line in golden.changes(before, now) if "KC101" in line]
    assert [line[:4] for line in lines] == ["gone", "new "]
    assert lines[1].endswith("[guarded: line 5: except TypeError]")


def test_counts_and_reasons_of_what_is_open_are_compared(tmp_path: Path) -> None:
    before, now = made(tmp_path, FAILS), made(tmp_path, "import kernels\nkernels.f(1, bad=2)\n")
    lines = [line for line in golden.changes(before, now) if line.startswith("library kernels: open")]
    assert lines[0] == "library kernels: open 1 -> 0"
    assert lines[1].startswith("library kernels: open 1 -> 0: ")


def test_a_call_that_is_bound_otherwise_shows_in_the_hash_of_all_uses(tmp_path: Path) -> None:
    engine = "import kernels\nkernels.f(1)\n"
    before = made(tmp_path, engine)
    now = made(tmp_path, engine, LIBRARY.replace("f(a)", "f(a, b=1)"))
    assert [line.split(":")[0] for line in golden.changes(before, now)] == ["uses"]


def test_a_library_pinned_to_a_range_is_taken_at_the_recorded_version() -> None:
    libraries = {"x": {"version": "1.2", "floating": True}, "y": {"version": "2.0"}}
    assert golden._floating({"libraries": libraries}) == {"x": "1.2"}
    assert golden._floating(None) == {}


def test_the_record_covers_the_releases_it_names() -> None:
    names = sorted(path.stem for path in golden.HERE.glob("*.json"))
    assert [sum(name.startswith(p) for name in names) for p in ("vllm", "sglang", "aphrodite")] == [12, 3, 1]
    size = sum(path.stat().st_size for path in golden.HERE.glob("*.json"))
    assert size < 1_500_000
