"""Which version or commit of each library a tree pins, and the file and line that says so."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import msgspec

from pinproof.projectpins import own_number, project_pins
from pinproof.projects import ENGINES
from pinproof.requirement import Pin, requirement
from pinproof.tree import Tree, metadata_path

__all__ = ["Disagreement", "Pin", "disagreements", "find_pin", "read_pins"]


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """Two places in one tree that pin the same library differently."""

    library: str
    pins: tuple[Pin, ...]


# One file of the tree says the pin; these are all the shapes that vLLM 0.24 to 0.33 and SGLang use.
_CMAKE_SET = re.compile(r'^[ \t]*set\(\s*(\w+)\s+"([^"\n]{1,300})"', re.MULTILINE)
_CMAKE_USE = re.compile(r"^[ \t]*(GIT_REPOSITORY|GIT_TAG)\s+(\S{1,300})", re.MULTILINE)
_CMAKE_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SHELL_SET = re.compile(r'^(\w+)="?([^"\s]{1,300})"?\s*$', re.MULTILINE)
_DOCKER_ARG = re.compile(r'^ARG\s+(\w+)="?([^"\s]{1,200})"?', re.MULTILINE)
_REQUIRES_DIST = re.compile(r"^Requires-Dist:[ \t]*(.{1,500})$", re.MULTILINE)

_DOCKER_LIBRARIES = {"FLASHINFER_VERSION": "flashinfer-python", "DEEPEP_COMMIT_HASH": "deep_ep"}
_SHELL_LIBRARIES = {
    "tools/install_deepgemm.sh": ("deep_gemm", "DEEPGEMM_GIT_REPO", "DEEPGEMM_GIT_REF"),
}
_CMAKE_NAMES = {"deepgemm": "deep_gemm", "flashmla": "flash_mla"}
_REQUIREMENT_FILES = ("requirements/cuda.txt", "requirements/common.txt")


def read_pins(tree: Tree, *, only: Collection[str] | None = None) -> list[Pin]:
    """Every pin the tree states: cmake, install scripts, requirements, Dockerfile, core metadata.

    Args:
        tree: any kind of tree; a wheel or an installed package has only its metadata.
        only: the libraries wanted; every one by default. Other requirements are not even parsed.

    Returns:
        The pins, sorted by library and place.
    """
    found = [*_cmake_pins(tree), *_shell_pins(tree), *_docker_pins(tree)]
    found += _requirement_pins(tree, only)
    found += _metadata_pins(tree, only)
    found += project_pins(tree, only)
    if only is not None:
        found = [pin for pin in found if pin.library in only]
    known = {pin.library for pin in found} | {tree.package, *tree.packages}
    asked = [e for e in ENGINES if e not in known and (only is None or e in only)]
    found += [pin for engine in asked for pin in [own_number(tree, engine)] if pin is not None]
    return sorted(found, key=lambda pin: (pin.library, pin.file, pin.line))


def disagreements(pins: Iterable[Pin]) -> list[Disagreement]:
    """The libraries for which two exact pins of one tree name different versions or commits."""
    by_library: dict[str, list[Pin]] = {}
    for pin in pins:
        if pin.exact:
            by_library.setdefault(pin.library, []).append(pin)
    return [
        Disagreement(library=library, pins=tuple(group))
        for library, group in sorted(by_library.items())
        if len({_bare(pin.spec) for pin in group}) > 1
    ]


def find_pin(pins: Iterable[Pin], library: str) -> Pin | None:
    """The pin that decides for a library: an exact one where there is one, a requirement before an image."""
    mine = [pin for pin in pins if pin.library == library]
    exact = [pin for pin in mine if pin.exact]
    required = [pin for pin in exact if "ockerfile" not in pin.file]
    return next(iter((*required, *exact, *mine)), None)


def _bare(spec: str) -> str:
    return spec.removeprefix("==").removeprefix("v")


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _cmake_pins(tree: Tree) -> Iterator[Pin]:
    for path in tree.files.paths("cmake/external_projects", ".cmake"):
        text = tree.read_text(path) or ""
        values = {match[1]: match for match in _CMAKE_SET.finditer(text)}
        uses: dict[str, re.Match[str]] = {}
        for use in _CMAKE_USE.finditer(text):
            uses.setdefault(use[1], use)
        tag = uses.get("GIT_TAG")
        if tag is None:
            continue
        place = _follow(tag, values)
        repo = uses.get("GIT_REPOSITORY")
        stem = path.rsplit("/", 1)[-1].removesuffix(".cmake")
        yield Pin(
            library=_CMAKE_NAMES.get(stem, stem), spec=place[2], exact=True, file=path,
            line=_line(text, place.start(2)), repo=_follow(repo, values)[2] if repo else None,
        )  # fmt: skip


def _follow(use: re.Match[str], values: dict[str, re.Match[str]]) -> re.Match[str]:
    """Where the value of a cmake argument is really written: through ${VARIABLE}, three steps deep."""
    for _ in range(3):
        name = _CMAKE_VARIABLE.fullmatch(use[2].strip('"'))
        if name is None or name[1] not in values:
            break
        use = values[name[1]]
    return use


def _shell_pins(tree: Tree) -> Iterator[Pin]:
    for path, (library, repo_name, ref_name) in _SHELL_LIBRARIES.items():
        text = tree.read_text(path) or ""
        values: dict[str, re.Match[str]] = {}
        for match in _SHELL_SET.finditer(text):
            values.setdefault(match[1], match)
        if ref_name in values:
            ref = values[ref_name]
            repo = values.get(repo_name)
            yield Pin(library=library, spec=ref[2], exact=True, file=path, line=_line(text, ref.start()),
                      repo=repo[2] if repo else None)  # fmt: skip


def _requirement_pins(tree: Tree, only: Collection[str] | None) -> Iterator[Pin]:
    for path in _REQUIREMENT_FILES:
        for number, line in enumerate((tree.read_text(path) or "").splitlines(), 1):
            pin = requirement(line.split(" #", 1)[0].strip(), path, number, only)
            if pin is not None:
                yield pin


def _docker_pins(tree: Tree) -> Iterator[Pin]:
    path = "docker/Dockerfile"
    text = tree.read_text(path) or ""
    for match in _DOCKER_ARG.finditer(text):
        if match[1] in _DOCKER_LIBRARIES:
            yield Pin(library=_DOCKER_LIBRARIES[match[1]], spec=match[2], exact=True, file=path,
                      line=_line(text, match.start()))  # fmt: skip


def _metadata_pins(tree: Tree, only: Collection[str] | None) -> Iterator[Pin]:
    path = metadata_path(tree)
    if path is None:
        return
    text = (tree.project_files.read(path) or b"").decode(errors="replace").split("\n\n", 1)[0]
    for match in _REQUIRES_DIST.finditer(text):
        pin = requirement(match[1], path, _line(text, match.start()), only)
        if pin is not None:
            yield pin
