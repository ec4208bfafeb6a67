"""Small engines and libraries on disk, for tests that say in a few lines what is called and declared."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from pinproof.contract.check import check_tree
from pinproof.contract.model import Report
from pinproof.contract.watch.watchlist import Watched
from pinproof.tree import open_tree

KERNELS = Watched(name="kernels", imports=("kernels",))


def write(root: Path, files: dict[str, str]) -> Path:
    """Write files below `root`, packages' `__init__.py` included."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in path.parents:
            if folder == root:
                break
            (folder / "__init__.py").touch()
        path.write_text(dedent(text), encoding="utf-8")
    return root


def check(
    tmp_path: Path,
    engine: str | dict[str, str],
    library: str | dict[str, str],
    *,
    watched: Watched = KERNELS,
    files: list[str] | None = None,
) -> Report:
    """The report on an engine (one file, or several by path) that calls the library `kernels`."""
    sources = {"vllm/m.py": engine} if isinstance(engine, str) else engine
    declared = {"kernels/__init__.py": library} if isinstance(library, str) else library
    root = write(tmp_path / "tree", {"vllm/__init__.py": "", **sources})
    folder = write(tmp_path / "library", declared)
    return check_tree(open_tree(root), libraries={watched.name: str(folder)}, watched=[watched], files=files)


def drifts(report: Report) -> list[tuple[int, str, tuple[str, ...]]]:
    """The unguarded drifts as (line, kind, names)."""
    return [(call.line, drift.kind, drift.names) for call in report.failing for drift in call.drifts]
