"""Read the pins of a tree from the files that places.toml names."""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec.structs import replace

from pinproof.pins.byproject import by_project
from pinproof.pins.model import Pin
from pinproof.pins.places import Form, Place, Variable, places
from pinproof.pins.requirement import project_pins, requirement
from pinproof.tree import Tree, metadata_path

_CMAKE_SET = re.compile(r'^[ \t]*set\(\s*(\w+)\s+"([^"\n]{1,300})"', re.MULTILINE)
_CMAKE_USE = re.compile(r"^[ \t]*(GIT_REPOSITORY|GIT_TAG)\s+(\S{1,300})", re.MULTILINE)
_CMAKE_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SHELL_SET = re.compile(r'^(\w+)="?([^"\s]{1,300})"?\s*$', re.MULTILINE)
_DOCKER_ARG = re.compile(r'^ARG\s+(\w+)="?([^"\s$]{1,200})"?(?:\s|$)', re.MULTILINE)
_REQUIRES_DIST = re.compile(r"^Requires-Dist:[ \t]*(.{1,500})$", re.MULTILINE)

Only = Collection[str] | None


def read_pins(tree: Tree, *, only: Only = None) -> list[Pin]:
    """Every pin the tree states.

    Args:
        tree: any kind of tree; a wheel or an installed package has only its metadata.
        only: the libraries wanted; every one by default. Other requirements are not even parsed.

    Returns:
        The pins, sorted by library and place.

    Raises:
        InputError: pyproject.toml is no TOML.
    """
    stated = tree if tree.project is None else dataclasses.replace(tree, files=tree.project)
    found = [
        _limited(pin, place)
        for place in places(tree.package)
        for path in _paths(stated, place)
        for pin in _READERS[place.form](stated, path, place, only)
        if only is None or pin.library in only
    ]
    found += by_project(tree, found, only)
    return sorted(found, key=lambda pin: (pin.library, pin.file, pin.line))


def _paths(tree: Tree, place: Place) -> list[str]:
    if place.form == "metadata":
        path = metadata_path(tree)
        return [path] if path is not None else []
    if "*" not in place.file:
        return [place.file]
    folder, _, pattern = place.file.rpartition("/")
    suffix = pattern.rpartition("*")[2]
    return [path for path in tree.files.paths(folder, suffix) if fnmatchcase(path, place.file)]


def _limited(pin: Pin, place: Place) -> Pin:
    """The pin with what its file says about when it holds."""
    if place.platform is not None:
        return replace(pin, reach="elsewhere", when=place.platform)
    if place.extra is not None and pin.reach == "always":
        return replace(pin, reach="extra", when=f"extra {place.extra}")
    return pin


def _line(text: str, offset: int) -> int:
    return bisect_left(_newlines(text), offset) + 1


@lru_cache(maxsize=2)
def _newlines(text: str) -> list[int]:
    """Where the lines end: counting from the top for each pin would take square time."""
    return [found.start() for found in re.finditer("\n", text)]


def _cmake(tree: Tree, path: str, place: Place, only: Only) -> Iterator[Pin]:
    text = tree.read_text(path) or ""
    values = {match[1]: match for match in _CMAKE_SET.finditer(text)}
    uses: dict[str, re.Match[str]] = {}
    for use in _CMAKE_USE.finditer(text):
        uses.setdefault(use[1], use)
    tag = uses.get("GIT_TAG")
    if tag is None:
        return
    stated = _follow(tag, values)
    repo = uses.get("GIT_REPOSITORY")
    stem = path.rsplit("/", 1)[-1].removesuffix(".cmake")
    yield Pin(
        library=place.names.get(stem, stem), spec=stated[2], exact=True, file=path,
        line=_line(text, stated.start(2)), repo=_follow(repo, values)[2] if repo else None,
    )  # fmt: skip


def _follow(use: re.Match[str], values: dict[str, re.Match[str]]) -> re.Match[str]:
    """Where the value of a cmake argument is really written: through ${VARIABLE}, three steps deep."""
    for _ in range(3):
        name = _CMAKE_VARIABLE.fullmatch(use[2].strip('"'))
        if name is None or name[1] not in values:
            break
        use = values[name[1]]
    return use


def _shell(tree: Tree, path: str, place: Place, only: Only) -> Iterator[Pin]:
    text = tree.read_text(path) or ""
    values: dict[str, re.Match[str]] = {}
    for match in _SHELL_SET.finditer(text):
        values.setdefault(match[1], match)  # later lines are the option parser's
    for name, variable in place.pins.items():
        if name in values:
            yield _of_variable(values[name], variable, values, path, text)


def _docker(tree: Tree, path: str, place: Place, only: Only) -> Iterator[Pin]:
    text = tree.read_text(path) or ""
    found = list(_DOCKER_ARG.finditer(text))
    values = {match[1]: match for match in reversed(found)}
    for match in found:
        if match[1] in place.pins:
            yield _of_variable(match, place.pins[match[1]], values, path, text)


def _of_variable(
    stated: re.Match[str], variable: Variable, values: dict[str, re.Match[str]], path: str, text: str
) -> Pin:
    repo = variable.repo
    if repo is not None and not repo.startswith("https://"):
        repo = values[repo][2] if repo in values else None
    exact = not stated[2].startswith(("<", ">", "~", "!"))
    return Pin(library=variable.library, spec=stated[2], exact=exact, file=path,
               line=_line(text, stated.start()), repo=repo)  # fmt: skip


def _requirements(tree: Tree, path: str, place: Place, only: Only) -> Iterator[Pin]:
    for number, line in enumerate((tree.read_text(path) or "").splitlines(), 1):
        pin = requirement(line.split(" #", 1)[0].strip(), path, number, only)
        if pin is not None:
            yield pin


def _pyproject(tree: Tree, path: str, place: Place, only: Only) -> Iterator[Pin]:
    yield from project_pins(_project_text(tree, path), path, only)


def _project_text(tree: Tree, path: str) -> str:
    return (tree.project_files.read(path) or b"").decode(errors="replace")


def _metadata(tree: Tree, path: str, place: Place, only: Only) -> Iterator[Pin]:
    text = _project_text(tree, path).split("\n\n", 1)[0]
    for match in _REQUIRES_DIST.finditer(text):
        pin = requirement(match[1], path, _line(text, match.start()), only)
        if pin is not None:
            yield replace(pin, origin="metadata")


_READERS: dict[Form, Callable[[Tree, str, Place, Only], Iterator[Pin]]] = {
    "cmake": _cmake, "shell": _shell, "docker": _docker, "requirements": _requirements,
    "pyproject": _pyproject, "metadata": _metadata,
}  # fmt: skip
