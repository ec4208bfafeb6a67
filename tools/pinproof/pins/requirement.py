"""Requirements as pins (PEP 508), and those of a pyproject.toml (PEP 621)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from pinproof.errors import InputError
from pinproof.pins.model import Pin, Reach

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"""\bextra\s*==\s*["']([^"']{1,80})["']""")
# `name @ https://host/name-0.25.1+cu129-cp38-abi3-linux_x86_64.whl`: the wheel's name says its version.
_WHEEL = re.compile(r"/[A-Za-z0-9_.]+-([0-9][0-9a-z.]*)(?:(?:\+|%2[Bb])[^-/]*)?-[^/]*\.whl(?:[#?]|$)")
_DEPENDENCIES = re.compile(r'dependenc(?:ies(?:"?\s*=|\s*[\].])|y-groups\s*[\].])')
# The machine whose builds the watched signatures are of: a marker that is false there speaks of another.
_MACHINE = {
    "implementation_name": "cpython", "implementation_version": "3.12.0", "os_name": "posix",
    "platform_machine": "x86_64", "platform_python_implementation": "CPython", "platform_release": "",
    "platform_system": "Linux", "platform_version": "", "python_full_version": "3.12.0",
    "python_version": "3.12", "sys_platform": "linux",
}  # fmt: skip


def requirement(text: str, path: str, line: int, only: Collection[str] | None) -> Pin | None:
    """One requirement as a pin; None when it is none, or of a library that is not wanted."""
    named = _NAME.match(text)
    if named is None or (only is not None and canonical(named[0]) not in only):
        return None
    # 20 ms to import: not for the lines of other libraries.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return None
    specs = list(wanted.specifier)
    exact = len(specs) == 1 and specs[0].operator == "==" and not specs[0].version.endswith(".*")
    # A local version (0.30.0+cpu) is a build of the public one, which is what the index has.
    spec = specs[0].version.split("+", 1)[0] if exact else str(wanted.specifier) or "any"
    reach, when = _reach(wanted.marker)
    if wanted.url is not None and (wheel := _WHEEL.search(wanted.url)):
        return Pin(library=canonical(wanted.name), spec=wheel[1], exact=True, file=path, line=line,
                   reach=reach, when=when)  # fmt: skip
    return Pin(library=canonical(wanted.name), spec=spec, exact=exact, file=path, line=line,
               repo=wanted.url, reach=reach, when=when)  # fmt: skip


def canonical(name: str) -> str:
    """A project's name as the package index normalises it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _reach(marker: Any) -> tuple[Reach, str | None]:
    """Whether a requirement with this marker is installed on the machine that is checked, and when."""
    if marker is None:
        return "always", None
    extra = _EXTRA.search(str(marker))
    if not marker.evaluate({**_MACHINE, "extra": extra[1] if extra else ""}):
        return "elsewhere", str(marker)
    return ("extra", f"extra {extra[1]}") if extra else ("always", None)


def project_pins(text: str, path: str, only: Collection[str] | None) -> Iterator[Pin]:
    """The dependencies and optional dependencies that a pyproject.toml states.

    Raises:
        InputError: it is no TOML, or its tables are of the wrong shape.
    """
    if not _DEPENDENCIES.search(text):  # most engines compute theirs; reading TOML takes time
        return
    from msgspec.structs import replace

    lines = _Lines(text)
    for value, extra in _stated(text, path):
        pin = requirement(value, path, lines.of(value), only)
        if pin is None:
            continue
        if extra is not None and pin.reach == "always":
            pin = replace(pin, reach="extra", when=f"extra {extra}")
        yield pin


def _stated(text: str, path: str) -> Iterator[tuple[str, str | None]]:
    """Each requirement and its extra."""
    from pinproof.toml import tomllib

    try:
        table = tomllib.loads(text)
        project = table.get("project", {})
        for value in project.get("dependencies", []):
            yield str(value), None
        for extra, values in project.get("optional-dependencies", {}).items():
            for value in values:
                yield str(value), extra
        for group, values in table.get("dependency-groups", {}).items():
            for value in values:
                if isinstance(value, str):  # else it includes another group
                    yield value, group
    except (tomllib.TOMLDecodeError, RecursionError, AttributeError, TypeError) as error:
        raise InputError(f"{path} cannot be read for its pins: {error}") from error


class _Lines:
    """Where strings stand in a TOML text, found in the order in which they are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._from: dict[str, int] = {}

    def of(self, value: str) -> int:
        """The line of the next place that holds this string in quotes; 1 where it is written otherwise."""
        found = [self._text.find(f"{q}{value}{q}", self._from.get(value, 0)) for q in "\"'"]
        at = min((offset for offset in found if offset >= 0), default=-1)
        if at < 0:
            return 1
        self._from[value] = at + 1
        return self._text.count("\n", 0, at) + 1
