"""Answers worked out once: kept in the cache under a hash of everything they rest on."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from pinproof.paths import atomic_write, cache_dir

_T = TypeVar("_T")


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
