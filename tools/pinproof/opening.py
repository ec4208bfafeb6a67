"""Open what a person names as a tree: an engine, or a plugin, server or trainer built on one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pinproof import layout
from pinproof.errors import InputError
from pinproof.pins.project import ENGINES
from pinproof.tree import DiskFiles, Tree, open_tree

# What makes a folder a project even where its packages have no __init__.
_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "PKG-INFO")
_DEEP = 3


def open_any(path: str | Path, engines: Sequence[str] = ENGINES) -> Tree:
    """The tree at `path`: one of the engines where it holds one, else the project that it is.

    Args:
        path: a checkout, an unpacked sdist, site-packages, or a package folder.
        engines: the import packages of the engines, the likeliest first.

    Raises:
        InputError: there is nothing there, or it is neither.
    """
    for package in engines:
        try:
            return open_tree(path, package=package)
        except InputError:
            if not Path(path).is_dir():
                raise
    found = open_project(Path(path))
    if found is None:
        raise InputError(
            f"{path} holds no {' or '.join(engines)}, and no other import package was found in it",
            hint="give the folder with the project's pyproject.toml, or the package's folder",
        )
    return found


def open_project(path: Path) -> Tree | None:
    """The project in a folder, or around a package folder; None when there is none."""
    given = path.resolve()
    if (given / "__init__.py").is_file():  # the package itself: its project is above, perhaps above src
        above = given.parent.parent if given.parent.name in ("src", "python") else given.parent
        return _tree(path, above, given.name) if _is_project(above) else _tree(path, given.parent, given.name)
    name = given.name.replace("-", "_").replace(".", "_")
    return _tree(path, given, name) if _is_project(given) or _python_paths(given) else None


def _is_project(folder: Path) -> bool:
    return any((folder / mark).is_file() for mark in _MARKS)


def _tree(path: Path, project: Path, name: str) -> Tree | None:
    inside = layout.find(_python_paths(project), name)
    if not inside.packages:
        return None
    first = inside.packages[0]
    root = project / inside.folder
    opened = open_tree(root, package=first) if (root / first / "__init__.py").is_file() else None
    files = DiskFiles(root)
    return Tree(
        "git" if (project / ".git").exists() else opened.kind if opened else "plain",
        str(path), files, root, first, opened.version if opened else None, inside.packages,
        DiskFiles(project) if inside.folder else None,
    )  # fmt: skip


def _python_paths(folder: Path) -> list[str]:
    """The Python files that can show where packages lie: those near the top."""
    found = []
    for depth in range(2, _DEEP + 2):
        pattern = "/".join(["*"] * (depth - 1)) + "/*.py"
        found += [p.relative_to(folder).as_posix() for p in folder.glob(pattern)]
    return found
