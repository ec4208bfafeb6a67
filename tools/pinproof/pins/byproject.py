"""Which engine version a plugin, server or trainer asks for: requirements, Dockerfiles, its own number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from pinproof.pins.model import Pin
from pinproof.pins.project import ENGINES, Project, project
from pinproof.pins.requirement import requirement
from pinproof.tree import Files, Tree

_VERSION = r"v?([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:\.?(?:rc|post)[0-9]+)?)"
# Images that hold an engine, and the arguments that Dockerfiles use for its version.
_IMAGE = re.compile(rf"^FROM\s+\S*?\b(vllm|sglang)(?:-openai|-cpu|-rocm)?:{_VERSION}", re.M | re.I)
_ARGUMENT = re.compile(
    rf"^(?:ARG|ENV)\s+(VLLM|SGLANG)_(?:TAG|VERSION|REF|BRANCH|RELEASE)[= ]\"?{_VERSION}\"?\s*$", re.M
)
# Engines have had plugins since 0.4; a project that has just begun (0.1.0) counts for itself.
_SAME_LINE = r"0\.(?:[4-9]|[1-9][0-9])(?:\.[0-9]+)?"
_INSTALL = re.compile(rf"\b(vllm|sglang)(?:\[[\w,.-]*\])?=={_VERSION}")


def by_project(tree: Tree, found: Iterable[Pin], only: Collection[str] | None) -> list[Pin]:
    """The pins of engines that the files of a project state, beside those that were `found` elsewhere.

    Args:
        tree: the tree; its project may lie above its packages.
        found: the pins of its pyproject.toml and metadata.
        only: the libraries wanted; every one by default.
    """
    own = (tree.package, *tree.packages)
    engines = [e for e in ENGINES if e not in own and (only is None or e in only)]
    if not engines:
        return []
    files = tree.project_files
    pins = list(_requirement_files(files, engines))
    pins += [pin for pin in _dockerfiles(files) if pin.library in engines]
    known = {pin.library for pin in (*found, *pins)}
    numbers = (own_number(tree, engine) for engine in engines if engine not in known)
    return [*pins, *(pin for pin in numbers if pin is not None)]


def own_number(tree: Tree, engine: str) -> Pin | None:
    """The engine's release of the same number as the project's own, for a plugin that states none.

    vllm-omni 0.28.0 is for vLLM 0.28.0 and says so nowhere in its metadata; so do others that are
    named after their engine or fill its plugin entry points.
    """
    found = project(tree)
    base = re.match(_SAME_LINE, found.version or "")
    if base is None or not _is_of(found, engine):
        return None
    return Pin(
        library=engine, spec=base[0], exact=True, file="", line=0,
        note=f"{found.name} states no version of {engine}: the release of its own number, {base[0]}",
    )  # fmt: skip


def _is_of(found: Project, engine: str) -> bool:
    return engine in found.plugin_of or found.name.startswith(engine + "-")


def _requirement_files(files: Files, engines: list[str]) -> Iterator[Pin]:
    for path in ("requirements.txt", *files.paths("requirements", ".txt")):
        for number, line in enumerate((files.read(path) or b"").decode(errors="replace").splitlines(), 1):
            pin = requirement(line.split(" #", 1)[0].strip(), path, number, engines)
            if pin is not None:
                yield pin


def _dockerfiles(files: Files) -> Iterator[Pin]:
    inside = [p for p in files.paths("docker") if "ockerfile" in p.rsplit("/", 1)[-1]]
    for path in ("Dockerfile", *inside):
        text = (files.read(path) or b"").decode(errors="replace")
        for pattern in (_IMAGE, _ARGUMENT, _INSTALL):
            for match in pattern.finditer(text):
                yield Pin(
                    library=match[1].lower(), spec=match[2], exact=True, file=path, origin="image",
                    line=text.count("\n", 0, match.start(2)) + 1,
                )  # fmt: skip
