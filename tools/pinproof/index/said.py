"""What one source of settings says about the package index; what it leaves open is None or empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class Place:
    """A place to look for packages.

    Attributes:
        url: an index's root, or a page or folder of files; it holds no credentials.
        user: the name to log in with, None where the settings give none.
        password: None where there is none; it may still come from netrc or a keyring.
    """

    url: str
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"Place({self.url!r}, user={self.user!r})"


@dataclass(frozen=True, kw_only=True)
class Said:
    """Settings of one source: an environment, or the files of one tool."""

    index: Place | None = None
    extra: tuple[Place, ...] = ()
    find_links: tuple[Place, ...] = ()
    trusted: tuple[str, ...] = ()
    no_index: bool | None = None
    offline: bool | None = None
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    keyring: str | None = None
    strategy: str | None = None

    def over(self, other: Said) -> Said:
        """What this says, and where it says nothing, what `other` says: one tool's own precedence."""
        return Said(**{name: _first(getattr(self, name), getattr(other, name)) for name in _NAMES})


_NAMES: tuple[str, ...] = tuple(Said.__dataclass_fields__)


def _first(mine: Any, theirs: Any) -> Any:
    return theirs if mine is None or mine == () else mine


def first(values: Sequence[_T | None]) -> _T | None:
    """The first that is not None."""
    return next((value for value in values if value is not None), None)


def place(text: str, user: str | None = None, password: str | None = None) -> Place:
    """A place from a URL or a path; credentials in the URL move out of it, so that no message shows them."""
    from pathlib import Path
    from urllib.parse import unquote, urlsplit, urlunsplit

    text = text.strip()
    if "://" not in text and not text.startswith("file:"):
        return Place(Path(text).expanduser().absolute().as_uri())
    parts = urlsplit(text)
    login, _, host = parts.netloc.rpartition("@")
    name, colon, secret = login.partition(":")
    return Place(
        urlunsplit(parts._replace(netloc=host)),
        user if user is not None else (unquote(name) or None),
        password if password is not None else (unquote(secret) if colon else None),
    )


def flag(text: str | None) -> bool | None:
    """A switch as pip and uv write one; None where nothing is said."""
    if text is None or not text.strip():
        return None
    return text.strip().lower() in ("1", "true", "yes", "on", "y", "t")
