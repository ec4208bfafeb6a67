"""The pictures of the README and the docs: whole, self-contained, and of what is there."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from tests.docs.blocks import REPO

IMAGES = REPO / "docs/images"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, REPO / f"tools/ci/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def architecture() -> ModuleType:
    return load("architecture")


def words(svg: str) -> str:
    text = "".join(ET.fromstring(svg).itertext())
    return text.replace("\xa0", " ")


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_is_well_formed_and_loads_nothing(path: Path) -> None:
    svg = path.read_text("utf-8")
    ET.fromstring(svg)
    assert set(re.findall(r"https?://[^\s\"')<]+", svg)) <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in svg
    assert "@font-face" not in svg


def test_the_terminal_shows_the_commands_of_the_script() -> None:
    shown = words((IMAGES / "terminal.svg").read_text("utf-8"))
    for command in load("pictures").SHOWN:
        assert f"$ {command}" in shown
    assert shown.index("needed") < shown.index("the contract holds")


def test_the_history_shows_the_break() -> None:
    svg = (IMAGES / "history.svg").read_text("utf-8")
    assert 'class="tint"' in svg
    assert "without 0001" in words(svg)


def test_the_architecture_names_every_part_of_the_layers(architecture: ModuleType) -> None:
    shown = words((IMAGES / "architecture.svg").read_text("utf-8"))
    rows = architecture.layers(REPO / "pyproject.toml")
    missing = [part for row in rows for part in row if part not in shown]
    assert missing == [], "python tools/ci/pictures.py architecture draws it anew"


def test_arrows_that_follow_from_others_are_left_out(architecture: ModuleType) -> None:
    found = {("a", "b"), ("b", "c"), ("a", "c")}
    assert architecture._direct(found) == {("a", "b"), ("b", "c")}


def test_imports_are_read_from_the_source(architecture: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/m.py").write_text(
        "from typing import TYPE_CHECKING\nimport os\nfrom pinproof import stamp\n"
        "if TYPE_CHECKING:\n    from pinproof.hidden import T\ndef f():\n    from pinproof.y.z import g\n"
    )
    (tmp_path / "top.py").write_text("from pinproof.x.m import f\n")
    assert architecture.imports(tmp_path) == {("x", "stamp"), ("x", "y"), ("top", "x")}


def test_an_unknown_picture_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert load("pictures").main(["photograph"]) == 2
    assert "no picture 'photograph'" in capsys.readouterr().err
