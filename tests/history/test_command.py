"""`pinproof history` on an index of this machine: the table, the chart, JSON, and what is remembered."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from pinproof.cli import main
from pinproof.history.model import History
from pinproof.patchset.patchfile import Patch
from pinproof.releases import distributions

from tests.history.world import CALLEE, add_release, two_releases
from tests.index_server import Index, index

__all__ = ["index"]

RANGE = ["--releases", "0.27.0..0.28.0"]


@pytest.fixture
def world(index: Index, tmp_path: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # in this process: the index is a fixture of it
    return two_releases(index, tmp_path, patch)


def told(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, object]:
    capsys.readouterr()
    assert main(["history", CALLEE, *RANGE, "--json", *more]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_the_release_that_took_the_patch_in_is_shown_without_it_too(
    world: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    found = msgspec.convert(told(capsys), History)
    assert [column.label for column in found.columns] == ["0.27.0", "0.28.0 − 0001", "0.28.0"]  # noqa: RUF001
    assert [len(column.broken) for column in found.columns] == [0, 1, 0]
    assert found.columns[1].callers[0].unexpected == ("activation_beta", "activation_linear_beta")


def test_json_is_what_its_schema_says(world: Index, capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema.validate(told(capsys), msgspec.json.schema(History))


def test_people_see_parameters_down_and_releases_across(
    world: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", CALLEE, *RANGE]) == 0
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.startswith("activation_beta "))
    assert line.split() == ["activation_beta", "●", "✗"]
    assert "0.27.0 → 0.28.0 − 0001: drops activation_beta" in out  # noqa: RUF001


def test_a_terminal_without_the_signs_gets_letters(
    world: Index, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pinproof.history import terminal

    monkeypatch.setattr(terminal, "_can_print", lambda text: False)
    assert main(["history", CALLEE, *RANGE]) == 0
    line = next(row for row in capsys.readouterr().out.splitlines() if row.startswith("activation_beta "))
    assert line.split() == ["activation_beta", "P", "X"]


def test_the_second_run_asks_the_index_for_nothing(world: Index, capsys: pytest.CaptureFixture[str]) -> None:
    first = told(capsys)
    distributions.cache_clear()
    world.requests.clear()
    assert told(capsys) == first
    assert world.requests == []


def test_an_edited_patch_is_read_anew(
    world: Index, own_patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys)
    path = own_patches / "0001-kimi-k3-megamoe-situ-kwargs.patch"
    path.write_text(path.read_text().replace("Applied-Upstream: v0.28.0\n", ""))
    columns = told(capsys)["columns"]
    assert isinstance(columns, list)
    assert len(columns) == 2


def test_a_release_that_cannot_be_read_is_said_and_not_remembered(
    world: Index, tmp_path: Path, patch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_release(world, tmp_path, patch, "0.29.0", fixed=True)
    broken = world.files["vllm"]["vllm-0.29.0-py3-none-any.whl"]
    broken.status = 500
    wide = ["history", CALLEE, "--releases", "0.28.0..0.29.0"]
    assert main(wide) == 5
    assert "not read" in capsys.readouterr().out
    broken.status = None
    assert main(wide) == 0


def test_the_chart_is_written_where_it_is_asked_for(world: Index, tmp_path: Path) -> None:
    target = tmp_path / "out.svg"
    assert main(["history", CALLEE, *RANGE, "--svg", str(target)]) == 0
    assert target.read_text().startswith("<svg")
    assert main(["history", CALLEE, *RANGE, "--svg", str(tmp_path / "no/out.svg")]) == 2


def test_a_misspelt_callee_names_the_nearest(world: Index, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "deep_gemm.fp8_fp4_mega_mo", *RANGE]) == 2
    assert "did you mean deep_gemm.fp8_fp4_mega_moe?" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["0.27.0", "x..y", "..", "0.28.0..0.27.0"])
def test_a_range_that_is_none_is_refused(
    world: Index, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", CALLEE, "--releases", given]) == 2
    assert capsys.readouterr().err.startswith("pinproof history: ")
