"""The page about each finding's code: inside the package where it is installed, in docs/ in a checkout."""

from __future__ import annotations

import re
from pathlib import Path

from pinproof.errors import InputError

_PACKAGE = Path(__file__).resolve().parents[2]
_HOME = "https://github.com/pinproof/pinproof/blob/main/docs/contract-codes"


def page_uri(code: str) -> str:
    """Where the page is on the web."""
    return f"{_HOME}/{code}.md"


def codes() -> dict[str, str]:
    """Each code with the title of its page."""
    return {path.stem: _title(path) for path in sorted(_folder().glob("KC*.md"))}


def page(code: str) -> str:
    """The page about a code, as Markdown.

    Raises:
        InputError: there is no such code.
    """
    if not re.fullmatch(r"KC\d{3}", code) or code not in codes():
        raise InputError(f"{code!r} is no code", hint=f"codes: {', '.join(codes())}")
    return (_folder() / f"{code}.md").read_text("utf-8")


def _folder() -> Path:
    shipped = _PACKAGE / "_codes"
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / "docs/contract-codes"


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as stream:
        return stream.readline().lstrip("# ").strip()
