"""A plugin against every release of its engine, on an index of this machine."""

from __future__ import annotations

import pytest
from pinproof.report.plugins import plugin_fact, plugin_release

from tests.index_server import Index, index, wheel

__all__ = ["index"]

ENGINE = """class Runner:
    def {0}(self, x):
        return x

    def run(self):
        return self.{0}(1)
"""
OLD, NEW = ENGINE.format("step").encode(), ENGINE.format("advance").encode()
MINE = (
    b"from vllm.engine import Runner\n\n\nclass Mine(Runner):\n    def step(self, x):\n"
    b"        return super().step(x)\n"
)


@pytest.fixture
def world(index: Index) -> Index:
    """vLLM whose 0.28.0 renamed a method, and a plugin for 0.27.0 that overrides it."""
    for version, engine in (("0.27.0", OLD), ("0.28.0", NEW)):
        files = {"vllm/__init__.py": b"", "vllm/engine.py": engine}
        files[f"vllm-{version}.dist-info/METADATA"] = f"Metadata-Version: 2.4\nVersion: {version}\n".encode()
        index.add("vllm", f"vllm-{version}-py3-none-any.whl", wheel(files))
    metadata = b"Metadata-Version: 2.4\nName: vllm-omni\nVersion: 0.27.0\nRequires-Dist: vllm==0.27.0\n"
    files = {
        "vllm_omni/__init__.py": b"",
        "vllm_omni/m.py": MINE,
        "vllm_omni-0.27.0.dist-info/METADATA": metadata,
    }
    index.add("vllm-omni", "vllm_omni-0.27.0-py3-none-any.whl", wheel(files))
    return index


def test_each_release_says_how_many_seams_break_there(world: Index) -> None:
    missing: dict[str, str] = {}
    found = plugin_fact("vllm-omni", "vllm", ["0.27.0", "0.28.0"], missing)
    assert missing == {}
    assert found is not None
    assert (found.plugin, found.engine) == ("vllm-omni==0.27.0", "vllm==0.27.0")
    assert [cell.broken > 0 for cell in found.cells] == [False, True]
    assert found.cells[0].looked_at == 1
    assert found.cells[0].command == "pinproof seams --release vllm-omni==0.27.0"
    assert found.cells[1].command == "pinproof seams --release vllm-omni==0.27.0 --with vllm==0.28.0"
    assert "vllm_omni/m.py:" in found.cells[1].examples[0]


def test_a_second_look_reads_no_file(world: Index) -> None:
    first = plugin_fact("vllm-omni==0.27.0", "vllm", ["0.27.0", "0.28.0"], {})
    world.requests.clear()
    assert plugin_fact("vllm-omni==0.27.0", "vllm", ["0.27.0", "0.28.0"], {}) == first
    assert not [line for line in world.requests if "engine.py" in line]


@pytest.mark.parametrize("text", ["no-such-plugin", "vllm-omni==9.9"])
def test_a_plugin_that_is_not_there_is_named(world: Index, text: str) -> None:
    missing: dict[str, str] = {}
    assert plugin_fact(text, "vllm", ["0.27.0"], missing) is None
    assert list(missing) == [text]


def test_a_plugin_of_another_engine_is_left_out(world: Index) -> None:
    missing: dict[str, str] = {}
    assert plugin_fact("vllm-omni", "sglang", ["0.5.0"], missing) is None
    assert missing == {"vllm-omni": "it is built on vllm"}


def test_a_name_alone_is_its_newest_release(world: Index) -> None:
    assert plugin_release("vllm-omni") == ("vllm-omni", "0.27.0")
