"""The options that say where packages come from, as every command has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.commands.registry import EVERYDAY, PLUMBING, load, parser_of
from pinproof.releases import distributions

from tests.index_server import Index, index, wheel

__all__ = ["index"]
WHEEL = "vllm-1.0-py3-none-any.whl"
FILES = {"vllm/__init__.py": b"", "vllm/models/kimi_k3/nvidia/model.py": b""}


@pytest.mark.parametrize("name", [*EVERYDAY, *PLUMBING])
def test_every_command_has_them(name: str) -> None:
    options = parser_of(name, load(name)).format_help()
    for option in ("--index-url", "--extra-index-url", "--find-links", "--no-index", "--offline"):
        assert option in options


def test_they_hold_for_one_run_and_no_longer(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.add("vllm", WHEEL, wheel(FILES))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    before = dict(os.environ)
    assert main(["pins", "--release", "vllm==1.0", "--index-url", f"{index.url}/simple"]) == 0
    assert dict(os.environ) == before
    distributions.cache_clear()
    assert main(["pins", "--release", "vllm==1.1", "--offline"]) == 5
    assert dict(os.environ) == before


def test_a_further_index_and_a_folder_are_asked_too(index: Index, tmp_path: Path) -> None:
    index.add("other", "other-1.0-py3-none-any.whl", wheel(FILES))
    (tmp_path / WHEEL).write_bytes(wheel(FILES))
    assert main(["pins", "--release", "vllm==1.0"]) == 2
    distributions.cache_clear()
    assert main(["pins", "--release", "vllm==1.0", "--find-links", str(tmp_path), "--no-index"]) == 0
