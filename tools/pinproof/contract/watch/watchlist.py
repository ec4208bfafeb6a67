"""Which libraries are watched: data, read from watchlist.toml and from files the user adds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from pinproof.errors import InputError
from pinproof.paths import read_regular

_LARGEST = 1 << 20


class Watched(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One watched library; watchlist.toml explains the fields."""

    name: str
    imports: tuple[str, ...]
    distributions: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    vendored: dict[str, str] = {}
    prefer: Literal["vendored", "external"] = "vendored"
    repository: str | None = None

    @property
    def pinned_as(self) -> tuple[str, ...]:
        """Every name a tree may pin it under."""
        return tuple(dict.fromkeys((*self.pins, self.name, *self.distributions)))


class Decorators(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Decorators of other packages, by full name.

    `keep` leaves the signature as it is; `launch` makes a kernel that is launched with further options.
    """

    keep: frozenset[str] = frozenset()
    launch: frozenset[str] = frozenset()


class Platforms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The platform that the watched builds are for, and the others, as words in names and tests."""

    own: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    other_tests: tuple[str, ...] = ()


class _File(msgspec.Struct, forbid_unknown_fields=True):
    engines: tuple[str, ...] = ()
    library: list[Watched] = []
    decorators: Decorators = Decorators()
    platforms: Platforms = Platforms()


@lru_cache(maxsize=1)
def _shipped() -> _File:
    text = resources.files("pinproof.contract.watch").joinpath("watchlist.toml").read_text(encoding="utf-8")
    return parse(text, "watchlist.toml")


def shipped() -> tuple[Watched, ...]:
    """The libraries watched by default."""
    return tuple(_shipped().library)


def decorators() -> Decorators:
    """What is known of other packages' decorators."""
    return _shipped().decorators


def engines() -> tuple[str, ...]:
    """The import packages of the engines to look for in a tree, the likeliest first."""
    return _shipped().engines


def platforms() -> Platforms:
    """Which platform the watched builds are for."""
    return _shipped().platforms


def parse(text: str, name: str) -> _File:
    """A watch list from its text.

    Raises:
        InputError: it is no TOML, or has unknown or mistyped fields.
    """
    from pinproof.toml import tomllib

    try:
        return msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"{name} is not a watch list: {error}", hint="see docs/contract-gate.md") from error


def load(extra: Path | None = None) -> tuple[Watched, ...]:
    """The shipped list with a user's file added; an entry of the same name replaces the shipped one.

    Raises:
        InputError: the file cannot be read or is malformed.
    """
    found = {library.name: library for library in shipped()}
    if extra is not None:
        try:
            text = read_regular(extra, _LARGEST).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the watch list {extra}: {error}") from error
        found.update((library.name, library) for library in parse(text, str(extra)).library)
    return tuple(found.values())


def for_packages(watched: Iterable[Watched], packages: Collection[str]) -> tuple[Watched, ...]:
    """The watch list for a tree that holds these packages.

    A library that is the tree itself is left out; a copy that another package vendors is that package's
    business, and seen from outside a part of it.
    """
    found = []
    for library in watched:
        if not set(library.imports) & set(packages):
            own = {n: place for n, place in library.vendored.items() if place.split(".")[0] in packages}
            found.append(
                msgspec.structs.replace(library, vendored=own) if own != library.vendored else library
            )
    return tuple(found)


def find(watched: tuple[Watched, ...], name: str) -> Watched:
    """The watched library of this name (or distribution name).

    Raises:
        InputError: it is not watched.
    """
    for library in watched:
        if name in (library.name, *library.distributions):
            return library
    import difflib

    close = difflib.get_close_matches(name, [library.name for library in watched], 1)
    known = ", ".join(library.name for library in watched)
    raise InputError(
        f"{name!r} is not a watched library" + (f"; did you mean {close[0]}?" if close else ""),
        hint=f"watched: {known}; --watch FILE adds to them",
    )
