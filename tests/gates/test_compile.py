"""Touched files compile here and at the lowest Python the tree supports, or the gate says where not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pinproof.errors import InputError
from pinproof.gate import GateResult
from pinproof.gates.compile import compile_gate, lowest_python
from pinproof.tree import Tree, open_tree

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def make_tree(root: Path, files: dict[str, bytes], requires: str | None = None) -> Tree:
    (root / "vllm").mkdir(parents=True)
    (root / "vllm" / "__init__.py").write_bytes(b"")
    if requires is not None:
        (root / "pyproject.toml").write_text(f'[project]\nname = "vllm"\nrequires-python = "{requires}"\n')
    return open_tree(root).with_changes(files)


def check(root: Path, source: bytes, requires: str | None = None, name: str = "vllm/a.py") -> GateResult:
    return compile_gate(make_tree(root, {name: source}, requires), [name])


def test_a_file_that_compiles_passes_and_says_under_which_python(tmp_path: Path) -> None:
    result = check(tmp_path, b"x = 1\n")
    assert (result.gate, result.outcome) == ("compile", "pass")
    assert result.details["checked"] == [{"python": HERE, "by": "interpreter"}]
    assert HERE in result.summary


def test_a_syntax_error_fails_with_file_line_and_message(tmp_path: Path) -> None:
    result = check(tmp_path, b"x = 1\ndef f(:\n")
    assert result.outcome == "fail"
    assert result.summary.startswith("vllm/a.py:2: ")
    assert [(f["path"], f["line"], f["python"]) for f in result.details["faults"]] == [("vllm/a.py", 2, HERE)]


@pytest.mark.parametrize(
    ("source", "since"),
    [
        (b"def f[T](x: T) -> T:\n    return x\n", "3.12"),
        (b"try:\n    pass\nexcept* ValueError:\n    pass\n", "3.11"),
        (b"x = {'a': 1}\nprint(f'{x['a']}')\n", "3.12"),
    ],
)
def test_syntax_newer_than_the_lowest_supported_python_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: bytes, since: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no python3.10 there: ruff's grammar decides
    result = check(tmp_path, source, ">=3.10,<3.15")
    at_lowest = [f for f in result.details["faults"] if f["python"] == "3.10"]
    assert result.outcome == "fail", since
    assert at_lowest
    if HERE != "3.10":
        assert {"python": "3.10", "by": "ruff"} in result.details["checked"]


def test_an_interpreter_of_the_lowest_python_is_preferred_to_a_grammar(tmp_path: Path) -> None:
    result = check(tmp_path, b"x = 1\n", f">={HERE}")
    assert result.details["checked"] == [{"python": HERE, "by": "interpreter"}]


def test_a_python_that_is_only_a_shim_and_does_not_run_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / "python3.9"
    shim.write_text("#!/bin/sh\necho 'python3.9: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = check(tmp_path / "tree", b"x = 1\n", ">=3.9")
    assert result.details["checked"][0] == {"python": "3.9", "by": "ruff"}


def test_a_tree_for_newer_pythons_only_is_not_judged_by_this_one(tmp_path: Path) -> None:
    result = check(tmp_path, b"def f[T](x: T): ...\n", ">=3.99")
    assert HERE not in [item["python"] for item in result.details["checked"]]


@pytest.mark.parametrize(
    "source", [b"(" * 100_000, b"\0", b"x = '\xff'\n", b"-" * 200_000 + b"1", b"# coding: nope\n"]
)
def test_hostile_source_is_a_failure_or_an_error_and_never_a_pass(tmp_path: Path, source: bytes) -> None:
    assert check(tmp_path, source).outcome in ("fail", "error")


def test_a_coding_cookie_is_obeyed(tmp_path: Path) -> None:
    assert check(tmp_path, b"# -*- coding: latin-1 -*-\nx = '\xe9'\n").outcome == "pass"


def test_the_source_is_never_run(tmp_path: Path) -> None:
    flag = tmp_path / "ran"
    assert check(tmp_path / "tree", f"open({str(flag)!r}, 'w')\n".encode()).outcome == "pass"
    assert not flag.exists()


def test_nothing_is_written_into_the_tree(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {})
    before = sorted(tmp_path.rglob("*"))
    assert compile_gate(tree, ["vllm/__init__.py"]).outcome == "pass"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_that_is_not_there_is_an_error_and_not_a_pass(tmp_path: Path) -> None:
    result = compile_gate(make_tree(tmp_path, {}), ["vllm/gone.py"])
    assert result.outcome == "error"
    assert "vllm/gone.py" in (result.reason or "")


def test_without_a_python_file_the_summary_says_that_nothing_was_compiled(tmp_path: Path) -> None:
    result = compile_gate(make_tree(tmp_path, {"x.cmake": b"("}), ["x.cmake"])
    assert (result.outcome, result.details["checked"]) == ("pass", [])
    assert "nothing to compile" in result.summary


@pytest.mark.parametrize(
    ("requires", "lowest"),
    [(">=3.10,<3.15", (3, 10)), (">=3.10.2", (3, 10)), ("~=3.12", (3, 12)), ("<3", None), (None, None)],
)
def test_the_lowest_python_is_read_from_requires_python(
    tmp_path: Path, requires: str | None, lowest: tuple[int, int] | None
) -> None:
    assert lowest_python(make_tree(tmp_path, {}, requires)) == lowest


def test_a_wheel_states_its_lowest_python_in_its_metadata(tmp_path: Path) -> None:
    make_tree(tmp_path, {})
    (tmp_path / "PKG-INFO").write_text("Name: vllm\nRequires-Python: >=3.11\n\nRequires-Python: >=3.2\n")
    assert lowest_python(open_tree(tmp_path)) == (3, 11)


@pytest.mark.parametrize("text", ["[project\n", '[project]\nrequires-python = "three"\n'])
def test_an_unreadable_requires_python_is_refused(tmp_path: Path, text: str) -> None:
    tree = make_tree(tmp_path, {"pyproject.toml": text.encode()})
    with pytest.raises(InputError, match=r"pyproject|requires-python"):
        lowest_python(tree)
