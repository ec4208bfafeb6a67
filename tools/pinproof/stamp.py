"""What tells whether this program's own code has changed: a part of the key of everything it remembers."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parent
_CODE = (".py", ".toml", ".json")


def _files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """The code and data below a folder of this package, all its sub-folders included, in a fixed order."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        elif entry.name.endswith(_CODE):
            yield entry


@lru_cache
def content(*folders: str) -> str:
    """A hash of this package's own code and data, and of the Python that parses for it.

    Args:
        folders: only what lies below these, as paths in the package; default is all of it.
    """
    seen = hashlib.sha256(repr(sys.version_info[:3]).encode())
    for folder in folders or ("",):
        for entry in _files(_ROOT / folder):
            data = Path(entry.path).read_bytes()
            seen.update(f"{os.path.relpath(entry.path, _ROOT)}\0{len(data)}\0".encode())
            seen.update(data)
    return seen.hexdigest()


@lru_cache
def times() -> str:
    """The same by sizes and times alone: a millisecond where reading everything takes thirty.

    It differs between two installations of the same code, so it fits what is kept for one machine.
    """
    seen = hashlib.sha256(repr(sys.version_info[:3]).encode())
    for entry in _files(_ROOT):
        stat = entry.stat()
        seen.update(f"{os.path.relpath(entry.path, _ROOT)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return seen.hexdigest()
