"""Where engines write their pins, as data from places.toml."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Literal

import msgspec

Form = Literal["cmake", "shell", "docker", "requirements", "pyproject", "metadata"]


class Variable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The library that a variable pins, and the variable or URL of its repository."""

    library: str
    repo: str | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file, or a glob of files, that may hold pins; places.toml explains the fields."""

    engine: str
    form: Form
    file: str = ""
    pins: dict[str, Variable] = {}
    names: dict[str, str] = {}
    platform: str | None = None
    extra: str | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    place: list[Place]


@lru_cache(maxsize=1)
def _all() -> tuple[Place, ...]:
    from pinproof.toml import tomllib

    text = resources.files("pinproof.pins").joinpath("places.toml").read_text(encoding="utf-8")
    return tuple(msgspec.convert(tomllib.loads(text), _File).place)


def places(engine: str) -> tuple[Place, ...]:
    """The places to look at in a tree of this engine (its import package)."""
    return tuple(place for place in _all() if place.engine in ("*", engine))


def pin_files(engine: str) -> tuple[str, ...]:
    """The paths and globs of the files that a build of this engine reads its pins from."""
    return tuple(place.file for place in places(engine) if place.file)
