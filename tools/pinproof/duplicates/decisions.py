"""A human's written reasons why a hit is not a duplicate, kept beside the patches."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from pinproof.console import clean
from pinproof.errors import InputError
from pinproof.git import git
from pinproof.paths import atomic_write, file_lock, read_regular

FILE = "decisions.json"
SCHEMA = "pinproof.decisions/1"
_SHORTEST = 15
_LONGEST = 500
_LARGEST = 4 << 20


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One reason: this patch (by what it changes) is not a duplicate of that pull request.

    `change` is the patch's change id, so that a new title keeps the reason and a new diff does not;
    `head` is the pull request's commit that was looked at: when it moves, the reason is asked for again.
    """

    patch: str
    change: str
    repo: str
    number: int
    head: str | None
    because: str
    by: str
    date: str


class _File(msgspec.Struct):
    schema: str = SCHEMA
    decisions: list[Decision] = []


def load(folder: Path) -> list[Decision]:
    """The decisions beside the patches in `folder`; none when there is no file.

    Raises:
        InputError: the file cannot be read as one.
    """
    path = folder / FILE
    try:
        stored = msgspec.json.decode(read_regular(path, _LARGEST), type=_File)
    except FileNotFoundError:
        return []
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: {error}", hint=f"git checkout -- {path}") from error
    if stored.schema != SCHEMA:
        raise InputError(f"{path} has schema {stored.schema!r}, this pinproof reads {SCHEMA}")
    return stored.decisions


def record(folder: Path, decision: Decision) -> None:
    """Add a decision, in place of an earlier one on the same patch and pull request.

    Raises:
        InputError: the present file cannot be read.
        Refused: another run is writing it.
    """
    path = folder / FILE
    with file_lock(folder / f".{FILE}.lock", wait_s=10, busy="another run writes the decisions"):
        kept = [item for item in load(folder) if _key(item) != _key(decision)]
        stored = _File(decisions=sorted([*kept, decision], key=_key))
        atomic_write(path, msgspec.json.format(msgspec.json.encode(stored), indent=2) + b"\n")


def _key(item: Decision) -> tuple[str, str, int]:
    return item.patch, item.repo, item.number


def check_reason(text: str) -> str:
    """A reason on one line.

    Raises:
        InputError: it says too little to convince anybody, or holds characters that hide text.
    """
    text = " ".join(text.split())
    if clean(text) != text or any(unicodedata.category(char) in ("Cc", "Cf") for char in text):
        raise InputError("the reason holds control or invisible characters")
    if len(text) < _SHORTEST or " " not in text:
        raise InputError(
            "the reason says too little", hint='e.g. --because "changes the DSv4 call, ours is Kimi-K3\'s"'
        )
    if len(text) > _LONGEST:
        raise InputError(f"the reason is longer than {_LONGEST} characters")
    return text


def who(folder: Path) -> str:
    """The person at work, by git's configuration.

    Raises:
        InputError: git knows no name; a reason needs somebody who stands for it.
    """
    where = folder if folder.is_dir() else Path.cwd()
    name, mail = (
        git(["config", key], cwd=where, check=False).stdout.decode(errors="replace").strip()
        for key in ("user.name", "user.email")
    )
    if not name or not mail:
        raise InputError(
            "git knows no user.name and user.email", hint='git config --global user.name "Your Name"'
        )
    return f"{name} <{mail}>"


def today() -> str:
    """The day in UTC."""
    return datetime.now(timezone.utc).date().isoformat()


def standing(
    decisions: list[Decision], change: str, repo: str, number: int, head: str | None
) -> Decision | None:
    """The decision that holds for a hit as it is now."""
    for item in decisions:
        same = (item.change, item.repo.lower(), item.number) == (change, repo.lower(), number)
        if same and (item.head == head or head is None):
            return item
    return None
