"""Fixtures for the smoke gate's tests: children made of a few lines, real processes, no torch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pinproof.smoke import process
from pinproof.smoke.process import Child, run_child

RunBody = Callable[..., Child]


@pytest.fixture
def run_body(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunBody:
    """Run a child whose `main(job)` is the given code, with the real protocol around it."""
    folder = tmp_path / "package" / "child"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "report.py").write_bytes((process.PACKAGE / "child/report.py").read_bytes())
    monkeypatch.setattr(process, "PACKAGE", folder.parent)
    base = tmp_path / "base"
    base.mkdir()

    def go(body: str, *, timeout_s: float = 20.0, tree: Path | None = None, **more: Any) -> Child:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        (folder / "body.py").write_text(
            "from .report import *\nfrom .report import describe\nimport os, sys, time\n"
            f"def main(job):\n{lines}\nrun(main)\n"
        )
        return run_child(
            sys.executable, "child.body", base=base, tree=tree, timeout_s=timeout_s, label="test", more=more
        )

    return go
