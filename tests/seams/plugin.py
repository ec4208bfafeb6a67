"""A small plugin and a small engine in memory, for the tests of seams."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pinproof.seams.code import Code, World
from pinproof.seams.examine import Side, examine
from pinproof.seams.model import Seam, Seams
from pinproof.tree import DiskFiles, Tree

Texts = Mapping[str, str]


def code(root: Path, package: str, files: Texts, label: str) -> Code:
    """A package of these modules below `root`; names are paths from the package."""
    for name, text in {"__init__.py": "", **files}.items():
        path = root / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Code(Tree("plain", label, DiskFiles(root), root, package), (package,), label)


def side(root: Path, plugin: Texts, engine: Texts, version: str = "1.0") -> Side:
    """A plugin `plug` with one version of its engine `vllm`."""
    own = code(root / "plugin", "plug", plugin, "plug")
    return Side(own, code(root / version, "vllm", engine, f"vllm {version}"), version)


def world(root: Path, plugin: Texts, engine: Texts) -> World:
    """Both together."""
    return side(root, plugin, engine).world


def seams(root: Path, plugin: Texts, engine: Texts, later: Texts | None = None) -> Seams:
    """What is found at 1.0, or by the step from 1.0 to 2.0."""
    pin = side(root, plugin, engine)
    if later is None:
        return examine(pin)
    return examine(pin, Side(pin.world.plugin, code(root / "2.0", "vllm", later, "vllm 2.0"), "2.0"))


def told(found: Seams | list[Seam]) -> list[tuple[str, int]]:
    """Code and line of each finding."""
    listed = found.found if isinstance(found, Seams) else found
    return [(seam.code, seam.line) for seam in listed]
