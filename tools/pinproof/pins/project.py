"""Which engine version a plugin, server or trainer asks for, beside metadata: requirements, Dockerfiles."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import msgspec

from pinproof.pins.model import Pin
from pinproof.pins.requirement import requirement
from pinproof.projects import ENGINES, Project, project, pyproject
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


def engine_pins(tree: Tree, only: Collection[str] | None) -> list[Pin]:
    """The pins of engines that the files of a project state beside its pyproject.toml and metadata.

    Args:
        tree: the tree; its project may lie above its packages.
        only: the libraries wanted; every one by default.

    Returns:
        The pins; of requirements files they hold always, of an image only in it.
    """
    engines = [e for e in ENGINES if e not in (tree.package, *tree.packages) and (only is None or e in only)]
    if not engines:
        return []
    files = tree.project_files
    image = (pin for pin in _dockerfiles(files) if pin.library in engines)
    return [*_groups(files, engines), *_requirement_files(files, engines), *image]


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


def _groups(files: Files, engines: list[str]) -> Iterator[Pin]:
    """Dependency groups (PEP 735) of pyproject.toml."""
    text = (files.read("pyproject.toml") or b"").decode(errors="replace")
    if "dependency-groups" not in text:
        return
    for group in _lists(pyproject(files).get("dependency-groups")):
        for wanted in (w for w in group if isinstance(w, str)):
            pin = requirement(wanted, "pyproject.toml", _line(text, wanted), engines)
            if pin is not None:
                yield msgspec.structs.replace(pin, reach="extra", when="in a dependency group")


def _lists(table: object) -> list[list[object]]:
    return [v for v in table.values() if isinstance(v, list)] if isinstance(table, dict) else []


def _line(text: str, wanted: str) -> int:
    at = max(text.find(f'"{wanted}"'), text.find(f"'{wanted}'"))
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


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
                    library=match[1].lower(), spec=match[2], exact=True, file=path, reach="elsewhere",
                    when="in the image", line=text.count("\n", 0, match.start(2)) + 1,
                )  # fmt: skip
