"""What a tree's owner lets pass on purpose: pinproof.toml, or [tool.pinproof] of pyproject.toml."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pinproof.contract.watch.watchlist import Watched
from pinproof.errors import InputError
from pinproof.tree import Tree

FILE = "pinproof.toml"
Reason = Annotated[str, msgspec.Meta(min_length=10, max_length=500)]


class Accepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding that a person let pass: its id, why, and the day from which it counts again."""

    finding: str
    reason: Reason
    until: datetime.date


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A library that is not checked on purpose, and why."""

    library: str
    reason: Reason


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One tree's settings; `library` entries add to the watch list."""

    accepted: tuple[Accepted, ...] = ()
    unchecked: tuple[LeftOut, ...] = ()
    library: tuple[Watched, ...] = ()


def load_settings(tree: Tree, given: Path | None = None) -> Settings:
    """The settings of a tree; empty ones where it has none.

    Args:
        tree: its pinproof.toml counts, else its pyproject.toml's [tool.pinproof].
        given: a file that counts instead.

    Raises:
        InputError: it cannot be read, has unknown or mistyped fields, or a watch entry of the tree names a
            repository (no tree chooses whom we ask).
    """
    if given is not None:
        try:
            return _parse(given.read_text("utf-8"), str(given))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {given}: {error}") from error
    text = tree.read_text(FILE)
    if text is not None:
        return _of_tree(_parse(text, FILE), FILE)
    text = tree.read_text("pyproject.toml") or ""
    if "tool.pinproof" not in text:
        return Settings()
    return _of_tree(_parse(text, "pyproject.toml", table=("tool", "pinproof")), "pyproject.toml")


def _of_tree(found: Settings, name: str) -> Settings:
    for library in found.library:
        if library.repository is not None:
            raise InputError(
                f"{name}: the entry {library.name!r} names a repository; no tree chooses whom we ask",
                hint="give it with --watch FILE",
            )
    return found


def _parse(text: str, name: str, table: tuple[str, ...] = ()) -> Settings:
    from pinproof.toml import tomllib

    try:
        data: Any = tomllib.loads(text)
        for key in table:
            data = data.get(key, {})
        return msgspec.convert(data, Settings)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError, AttributeError) as error:
        raise InputError(f"{name}: {error}", hint="docs/contract-gate.md shows its form") from error
