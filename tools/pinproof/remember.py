"""Answers worked out once: kept in the cache under a hash of everything they rest on, this code included."""

from __future__ import annotations

import contextlib
import hashlib
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from pinproof.paths import atomic_write, cache_dir

_T = TypeVar("_T")
_CODE = (".py", ".toml", ".json")


@lru_cache(maxsize=16)
def code_stamp(*parts: str) -> str:
    """A hash of this package's own code and data, and of the Python that parses for it.

    Args:
        parts: files and folders of the package (`contract`, `pins.py`); the whole package when there is none.
    """
    root = Path(__file__).resolve().parent
    places = [root / part for part in parts] or [root]
    files = sorted(f for place in places for f in (place.rglob("*") if place.is_dir() else [place]))
    seen = hashlib.sha256(repr(sys.version_info[:3]).encode())
    for path in (path for path in files if path.suffix in _CODE):
        content = path.read_bytes()
        seen.update(f"{path.relative_to(root)}\0{len(content)}\0".encode())
        seen.update(content)
    return seen.hexdigest()


def place(kind: str, *key: str) -> Path:
    """Where an answer of this kind is kept; `key` names everything it rests on."""
    return cache_dir(kind) / f"{hashlib.sha256(chr(0).join(key).encode()).hexdigest()}.json"


def recall(path: Path, type_: type[_T], *, fresh: Callable[[_T], float | None]) -> _T | None:
    """A kept answer; None when there is none, or when it is older than `fresh` of it allows (seconds)."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        found = msgspec.json.decode(path.read_bytes(), type=type_)
        most = fresh(found)
        if most is None or time.time() - path.stat().st_mtime < most:
            return found
    return None


def keep(path: Path, answer: object) -> None:
    """Keep an answer; a full or read-only cache costs time, not the answer."""
    with contextlib.suppress(OSError):
        atomic_write(path, msgspec.json.encode(answer))
