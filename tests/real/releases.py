"""Real releases for tests: skipped, with the reason, where the registry is out of reach."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import CannotCheck
from pinproof.fetch import fetch_release
from pinproof.patchset.patchfile import Patch


def checkout(version: str, target: Path, without: list[Patch]) -> Path:
    """vLLM at a version as a git tree, with patches taken out; skips when it is not available."""
    try:
        return fetch_release("vllm", version, target, without).disk_root()
    except CannotCheck as error:
        pytest.skip(f"needs the package index: {error.message}")
