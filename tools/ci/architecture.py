"""Draw the package as it is: its layers from pyproject.toml, its parts and their imports from the source.

python tools/ci/architecture.py > docs/images/architecture.svg
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader
from pinproof.toml import tomllib

_WIDE, _HIGH, _STEP, _GAP, _LEFT, _TOP = 138, 44, 78, 18, 20, 56
_FOUNDATION = "tree"  # the row of this part and those below it: everything rests on them


class Box(NamedTuple):
    """A part of the package: its place in the drawing, its modules and lines."""

    name: str
    x: float
    y: int
    modules: int
    lines: int


def layers(pyproject: Path) -> list[list[str]]:
    """The layers that import-linter holds, highest first, each with its parts."""
    contracts = tomllib.loads(pyproject.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    found = next(c["layers"] for c in contracts if "containers" not in c and c["type"] == "layers")
    return [[part.strip().removeprefix("pinproof.") for part in layer.split("|")] for layer in found]


def imports(package: Path) -> set[tuple[str, str]]:
    """Every (part, part it imports); imports for type checkers alone are left out."""
    found: set[tuple[str, str]] = set()
    for path in package.rglob("*.py"):
        part = _part(path.relative_to(package))
        for module in _imported(ast.parse(path.read_bytes())):
            other = module.removeprefix("pinproof.").split(".")[0]
            if module.startswith("pinproof.") and other != part:
                found.add((part, other))
    return found


def _part(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def _imported(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and child.module and not child.level:
            yield from (
                [f"pinproof.{a.name}" for a in child.names] if child.module == "pinproof" else [child.module]
            )
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        else:
            yield from _imported(child)


def boxes(package: Path, rows: list[list[str]]) -> dict[str, Box]:
    """Where each part is drawn."""
    widest = max(len(row) for row in rows)
    found: dict[str, Box] = {}
    for level, row in enumerate(rows):
        start = _LEFT + (widest - len(row)) * (_WIDE + _GAP) / 2
        for column, name in enumerate(row):
            files = list((package / name).rglob("*.py")) or [package / f"{name}.py"]
            count = sum(len(file.read_bytes().splitlines()) for file in files)
            y = _TOP + level * _STEP
            found[name] = Box(name, start + column * (_WIDE + _GAP), y, len(files), count)
    return found


def drawing(package: Path, pyproject: Path) -> str:
    """The picture: an arrow from each part to the nearest parts it imports; the others follow from these."""
    rows = layers(pyproject)
    placed = boxes(package, rows)
    floor = placed[_FOUNDATION].y
    arrows = sorted(_direct(imports(package)))
    template = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    return template.get_template("architecture.svg.jinja").render(
        width=2 * _LEFT + max(len(row) for row in rows) * (_WIDE + _GAP) - _GAP, wide=_WIDE, high=_HIGH,
        height=_TOP + len(rows) * _STEP, floor=floor, boxes=list(placed.values()),
        arrows=[
            (placed[a], placed[b]) for a, b in arrows if a in placed and b in placed and placed[b].y < floor
        ],
    )  # fmt: skip


def _direct(found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows that do not follow from others (a transitive reduction; there are no circles)."""
    below: dict[str, set[str]] = {}
    for a, b in found:
        below.setdefault(a, set()).add(b)

    def reach(part: str, seen: set[str]) -> set[str]:
        for other in below.get(part, ()):
            if other not in seen:
                seen.add(other)
                reach(other, seen)
        return seen

    far = {a: set().union(*(reach(b, set()) for b in mine)) for a, mine in below.items()}
    return {(a, b) for a, b in found if b not in far[a]}


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    print(drawing(root / "tools/pinproof", root / "pyproject.toml"), end="")
