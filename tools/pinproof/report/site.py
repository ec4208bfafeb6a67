"""Write a site in one step: a reader sees the old one or the new one, and nothing of the user's is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pinproof.errors import Refused
from pinproof.paths import default_file_mode

_MARK = ".pinproof-report"


def write_site(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a site's files to a folder.

    Args:
        target: the folder; it is made, or replaced when it holds an older report.
        files: contents by path.

    Raises:
        Refused: the folder holds something else.
    """
    if target.exists() and not target.is_dir():
        raise Refused(f"{target} is not a folder")
    if target.is_dir() and any(target.iterdir()) and not (target / _MARK).is_file():
        raise Refused(f"{target} holds files that are not a report", hint="give an empty or a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name, content in {**files, _MARK: b""}.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        fresh.chmod(default_file_mode() | 0o111)
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _swap(fresh: Path, target: Path) -> None:
    """Put `fresh` in the place of `target`; what was there is gone only once the new one stands."""
    if not target.exists():
        os.replace(fresh, target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    os.replace(target, old)
    try:
        os.replace(fresh, target)
    except BaseException:
        os.replace(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)
