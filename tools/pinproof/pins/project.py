"""What a project built on an engine says of itself: its name, its plugin entry points, what it requires."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from pinproof.pins.requirement import canonical
from pinproof.tree import Files, Tree

# The entry-point groups that vLLM 0.33.0 and SGLang 0.5.23 load, by how their names begin.
_GROUPS = re.compile(r"\b((?:vllm|sglang)\.[a-z_]*plugins)\b")
ENGINES = ("vllm", "sglang")


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project as its own files describe it.

    Attributes:
        name: its distribution, normalised; the import package when it does not say.
        version: the release it says it is.
        plugin_of: the engines whose plugin entry points it fills.
        groups: these entry points' groups, e.g. `vllm.platform_plugins`.
    """

    name: str
    version: str | None
    plugin_of: tuple[str, ...]
    groups: tuple[str, ...]


def project(tree: Tree) -> Project:
    """Describe the project that a tree belongs to."""
    files = tree.project_files
    table = pyproject(files).get("project")
    table = table if isinstance(table, dict) else {}
    version = tree.version or (table.get("version") if isinstance(table.get("version"), str) else None)
    groups = sorted({g for text in _entry_points(tree, files) for g in _GROUPS.findall(text)})
    name = table.get("name") if isinstance(table.get("name"), str) else tree.package
    return Project(
        name=canonical(str(name)), version=version, groups=tuple(groups),
        plugin_of=tuple(e for e in ENGINES if any(g.startswith(e + ".") for g in groups)),
    )  # fmt: skip


def pyproject(files: Files) -> dict[str, Any]:
    """The project's pyproject.toml; empty when there is none, or none that can be read."""
    from pinproof.toml import tomllib

    data = files.read("pyproject.toml")
    if data is None:
        return {}
    try:
        return tomllib.loads(data.decode(errors="replace"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _entry_points(tree: Tree, files: Files) -> Iterator[str]:
    """The texts that declare entry points: metadata of a built package, else what it is built from."""
    stem = re.sub(r"[-.]+", "_", tree.package)
    for path in (f"{stem}-{tree.version}.dist-info/entry_points.txt", f"{stem}.egg-info/entry_points.txt"):
        yield (files.read(path) or b"").decode(errors="replace")
    for path in ("pyproject.toml", "setup.py", "setup.cfg"):
        yield (files.read(path) or b"").decode(errors="replace")
