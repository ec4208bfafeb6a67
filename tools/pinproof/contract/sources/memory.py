"""What one run tells the next about libraries: where snapshots lie, what the index answered, what failed."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pinproof.errors import CannotCheck, InputError
from pinproof.paths import atomic_write, cache_dir

# Rises when the way a library is summarised changes: snapshots of another format are taken anew.
FORMAT = "6"
# A new release may come any day; a failed fetch is not tried again by every run of a pre-commit hook.
_DAY_S = 24 * 3600.0
REFUSED_S = 600.0


class _Answer(msgspec.Struct):
    value: str
    at: float


def signature_file(name: str, version: str) -> Path:
    """Where the snapshot of a library at a version is kept.

    Raises:
        InputError: the version cannot be part of a file's name.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,80}", version):
        raise InputError(
            f"{version!r} is not a version to keep a snapshot under", hint="give --version or -o FILE"
        )
    return cache_dir("signatures", FORMAT) / f"{name}-{version}.json"


def _file(question: str) -> Path:
    return cache_dir("answers") / f"{hashlib.sha256(question.encode()).hexdigest()[:32]}.json"


def _read(question: str) -> _Answer | None:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(_file(question).read_bytes(), type=_Answer)
    return None


def _write(question: str, value: str) -> None:
    atomic_write(_file(question), msgspec.json.encode(_Answer(value, time.time())))


def recall(question: str, ask: Callable[[], str]) -> str:
    """The answer to a question about the package index: asked once a day, an old one when it is out of reach.

    Raises:
        CannotCheck: it is out of reach and was never asked.
    """
    known = _read(question)
    if known is not None and 0 <= time.time() - known.at < _DAY_S:
        return known.value
    try:
        value = ask()
    except CannotCheck:
        if known is None:
            raise
        return known.value
    _write(question, value)
    return value


def remember_refusal(what: str, error: CannotCheck) -> None:
    """Note that something could not be fetched."""
    _write(f"refused {what}", error.message)


def refuse_again(what: str) -> None:
    """Fail as the last try did, when that is only minutes ago.

    Raises:
        CannotCheck: with the words of the last failure.
    """
    known = _read(f"refused {what}")
    if known is not None and 0 <= time.time() - known.at < REFUSED_S:
        raise CannotCheck(f"{known.value} (tried {int(time.time() - known.at)} s ago)")
