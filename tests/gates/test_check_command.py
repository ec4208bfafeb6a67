"""`pinproof check` shows every hook's outcome, speaks JSON, and ends with the exit code of the worst gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pinproof.cli import main

from tests.gates.precommit.hooktree import AFTER, hook, make_hook_tree, the_patch

OK = hook("ok", "true")
BAD = hook("bad", 'echo "a: bad [bold] \x1b[2J"; exit 1')
MISSING = {"id": "gone", "name": "gone", "language": "system", "entry": "no-such-program-here"}
REWRITE = hook("rewrite", 'echo "# more" >> "$1"')


@pytest.fixture
def patch_file(tmp_path: Path) -> str:
    path = tmp_path / "0009-test.patch"
    path.write_bytes(the_patch().raw)
    return str(path)


def run(tmp_path: Path, patch_file: str, *hooks: dict[str, Any], options: tuple[str, ...] = ()) -> int:
    make_hook_tree(tmp_path / "tree", *hooks)
    return main(["check", *options, patch_file, str(tmp_path / "tree")])


def test_a_clean_patch_ends_with_0_and_lists_both_gates_and_each_hook(
    tmp_path: Path, patch_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = hook("docs", "false", types=["markdown"])
    assert run(tmp_path, patch_file, OK, idle) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == f"0009-test.patch on {tmp_path}/tree"
    assert any(line.split()[:2] == ["compile", "pass"] for line in lines)
    assert any(line.split()[:2] == ["pre-commit", "pass"] for line in lines)
    assert any(line.split()[:3] == ["ok", "pre-commit", "pass"] for line in lines)
    assert "skipped (1): docs" in shown.out
    assert "  ok: Passed" in shown.err


def test_a_failing_hook_ends_with_1_and_its_output_is_cleaned(
    tmp_path: Path, patch_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, patch_file, BAD) == 1
    out = capsys.readouterr().out
    assert "--- bad failed\na: bad [bold]" in out
    assert "\x1b" not in out


def test_a_hook_that_could_not_run_ends_with_5(
    tmp_path: Path, patch_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, patch_file, OK, MISSING) == 5
    assert "Executable `no-such-program-here` not found" in capsys.readouterr().out


def test_json_holds_the_whole_result(
    tmp_path: Path, patch_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, patch_file, OK, options=("--json",)) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "pinproof.check/1"
    assert [(g["gate"], g["outcome"]) for g in data["patches"][0]["gates"]] == [
        ("compile", "pass"), ("pre-commit", "pass"),
    ]  # fmt: skip
    assert data["patches"][0]["gates"][1]["details"]["hooks"][0]["hook"] == "ok"


def test_a_rewrite_is_shown_with_the_way_to_take_it_and_fix_takes_it(
    tmp_path: Path, patch_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, patch_file, REWRITE) == 1
    out = capsys.readouterr().out
    assert "what the hooks rewrote (not written; --fix does)" in out
    assert "+# more" in out
    (tmp_path / "tree/vllm/a.py").write_bytes(AFTER)
    assert main(["check", "--fix", patch_file, str(tmp_path / "tree")]) == 1
    assert (tmp_path / "tree/vllm/a.py").read_bytes() == AFTER + b"# more\n"


def test_a_patch_that_does_not_apply_ends_with_4_and_the_next_command(
    tmp_path: Path, patch_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_hook_tree(tmp_path / "tree", OK)
    (tmp_path / "tree/vllm/a.py").write_bytes(b"x = 7\n")
    assert main(["check", patch_file, str(tmp_path / "tree")]) == 4
    assert "-> pinproof verdict" in capsys.readouterr().err


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A patch folder with the one patch."""
    folder = tmp_path / "patches"
    folder.mkdir()
    (folder / "series").write_text("0009-test.patch\n")
    (folder / "0009-test.patch").write_bytes(the_patch().raw)
    return folder


def test_of_a_whole_series_a_patch_that_does_not_apply_is_not_run_and_that_is_no_pass(
    tmp_path: Path, series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_hook_tree(tmp_path / "tree", OK)
    (tmp_path / "tree/vllm/a.py").write_bytes(b"x = 7\n")
    assert main(["check", "--patches", str(series), str(tmp_path / "tree")]) == 5
    assert "not-run" in capsys.readouterr().out
    assert not (series / "evidence").exists()


def test_results_on_a_patch_of_the_series_are_recorded_pass_or_fail(
    tmp_path: Path, series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for hooks, outcome in (((OK,), "pass"), ((BAD,), "fail")):
        make_hook_tree(tmp_path / "tree", *hooks)
        main(["check", "--patches", str(series), "9", str(tmp_path / "tree")])
        records = series / "evidence" / "0009-test"
        assert json.loads((records / "pre-commit.json").read_text())["outcome"] == outcome
        assert json.loads((records / "compile.json").read_text())["outcome"] == "pass"
    assert "recorded " in capsys.readouterr().err


def test_a_patch_from_elsewhere_with_a_series_patchs_name_is_not_recorded(
    tmp_path: Path, series: Path, patch_file: str
) -> None:
    (series / "0009-test.patch").write_bytes(the_patch("[Bugfix] Another").raw)
    make_hook_tree(tmp_path / "tree", OK)
    main(["check", "--patches", str(series), patch_file, str(tmp_path / "tree")])
    assert not (series / "evidence").exists()


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", "inf"])
def test_a_time_limit_that_is_none_is_refused(value: str, tmp_path: Path, patch_file: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", "--timeout", value, patch_file, str(tmp_path)])
    assert caught.value.code == 2
