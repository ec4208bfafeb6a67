"""The table of a bump says what changed upstream, what to adapt, how sure, and since when."""

# ruff: noqa: E501 - a small module reads best on one line

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.seams.bump import Row, markdown

from tests.index_server import Index, index, wheel

__all__ = ["index"]

OLD = {
    "vllm/__init__.py": b"",
    "vllm/a.py": b"def pick(a, old=1):\n    return a\n\n\ndef gone():\n    return 1\n\n\nclass Base:\n    def step(self, n):\n        return n\n\n    def go(self):\n        return self.step(1)\n",
}
NEW = {
    "vllm/__init__.py": b"",
    "vllm/a.py": b"def pick(a, new=1):\n    return a\n\n\nclass Base:\n    def step(self, n, more=0):\n        return n\n\n    def go(self):\n        return self.step(1, more=2)\n",
    "vllm/b.py": b"def gone():\n    return 1\n",
}
PLUGIN = """\
import vllm.a
from vllm.a import Base, gone, pick


class Mine(Base):
    def step(self, n):
        return n


def use():
    return pick(1, old=2), gone()


vllm.a.pick = use
"""


@pytest.fixture
def plugin(index: Index, tmp_path: Path) -> Path:
    """A plugin at vllm 0.8.0, and an index that has 0.8.0, 0.8.1 (unchanged) and 0.9.0."""
    for version, files in (("0.8.0", OLD), ("0.8.1", OLD), ("0.9.0", NEW)):
        index.add("vllm", f"vllm-{version}-py3-none-any.whl", wheel(files))
    (tmp_path / "plug").mkdir()
    (tmp_path / "plug/__init__.py").write_text(PLUGIN.replace("\n\nvllm.a.pick = use\n", ""))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "plug"\ndependencies = ["vllm==0.8.0"]\n')
    return tmp_path


def test_the_rows_of_a_real_step(plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bump", "vllm==0.9.0", str(plugin), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["line"], row["code"], row["since"]) for row in rows] == [
        (2, "KC201", "0.9.0"), (6, "KC301", "0.9.0"), (11, "KC101", "0.9.0")
    ]  # fmt: skip
    assert rows[0]["adapt"] == "take it from `vllm.b.gone`"
    assert rows[2]["upstream"] == "`pick(a, old=...)` is now `pick(a, new=...)`"


def test_the_markdown_is_written_and_printed(plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = plugin / "bump.md"
    assert main(["bump", "vllm==0.9.0", str(plugin), "-o", str(out)]) == 1
    text = out.read_text()
    assert text.rstrip() == capsys.readouterr().out.rstrip()
    assert "| `plug/__init__.py:2` | KC201 |" in text
    assert "3 places break, 0 to read again." in text


def test_the_newest_release_is_looked_up(plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bump", "vllm==newest", str(plugin), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["to"] == "0.9.0"


def test_a_step_that_breaks_nothing_passes(plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bump", "vllm==0.8.1", str(plugin)]) == 0
    assert "Nothing that was looked at breaks." in capsys.readouterr().out


def test_another_engine_than_the_plugin_s_is_refused(
    plugin: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bump", "sglang==0.5.0", str(plugin)]) == 2
    assert "built on vllm" in capsys.readouterr().err


def test_cells_keep_the_table_whole() -> None:
    row = Row(file="a.py", line=1, code="KC101", name="x", upstream="a | b\nc", adapt="d", sure="always")
    assert "| a \\| b c | d |" in markdown([row], "p", "vllm", "1", "2")
