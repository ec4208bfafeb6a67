"""Where a project keeps its import packages: at the top, in src or python, in a wheel's data folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# Folders of a project that hold no import package of its own.
_BESIDE = frozenset(
    {
        "test", "tests", "testing", "doc", "docs", "example", "examples", "benchmark", "benchmarks", "tools",
        "scripts", "script", "build", "dist", "ci", "docker", "experimental", "experiments", "site", "csrc",
    }
)  # fmt: skip
_FOLDERS = ("", "src", "python")
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)")


class Layout(NamedTuple):
    """The folder that import packages lie in, empty for the top, and their names."""

    folder: str
    packages: tuple[str, ...]


def find(paths: Iterable[str], name: str) -> Layout:
    """The layout of a project, from the paths of its Python files.

    Args:
        paths: relative to the project's folder.
        name: its distribution as an import name; a package of that name comes first.

    Returns:
        The layout; its packages are empty when no file lies in one.
    """
    listed = list(paths)
    places = [*_FOLDERS, *sorted({m[0] for p in listed for m in [_DATA.match(p)] if m})]
    for inits in (True, False):  # namespace packages have no __init__, and are the second choice
        for folder in places:
            found = _packages(listed, folder, inits)
            if found:
                return Layout(folder, tuple(sorted(found, key=lambda package: (package != name, package))))
    return Layout("", ())


def _packages(listed: list[str], folder: str, inits: bool) -> set[str]:
    prefix = folder + "/" if folder else ""
    found = set()
    for path in listed:
        parts = path[len(prefix) :].split("/") if path.startswith(prefix) else []
        if len(parts) > 1 and (parts[1:] == ["__init__.py"] or not inits) and _is_package(parts[0]):
            found.add(parts[0])
    return found


def _is_package(name: str) -> bool:
    return name.isidentifier() and name not in _BESIDE and name not in _FOLDERS
