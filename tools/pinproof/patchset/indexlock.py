"""git's index.lock, taken so that a run that was killed while it held it can be told and cleared away."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from pinproof.errors import InputError
from pinproof.signals import uninterrupted

NEW_INDEX = "pinproof-index-"
_OURS = "pinproof-lock"


@contextlib.contextmanager
def index_lock(folder: Path) -> Iterator[None]:
    """Keep every git off this tree's index. Hold tree_lock(): it makes an old lock of ours a dead one.

    `index.lock` is a second name of a file of ours: whatever moment the process dies at, the next run
    sees whose lock it is. Where the file system has no second names, it is a file like git's own.

    Args:
        folder: git's own folder of this tree.

    Raises:
        InputError: another git is at work, or was killed.
    """
    clear_index_lock(folder)
    with uninterrupted():
        _take(folder)
    try:
        yield
    finally:
        with uninterrupted():
            (folder / "index.lock").unlink(missing_ok=True)
            (folder / _OURS).unlink(missing_ok=True)


def clear_index_lock(folder: Path) -> None:
    """Remove what a killed run left in git's folder: its lock, told by its second name, and new indexes.

    Hold tree_lock().
    """
    ours, lock = folder / _OURS, folder / "index.lock"
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(ours.lstat(), lock.lstat()):
            lock.unlink()
    ours.unlink(missing_ok=True)
    for left in folder.glob(f"{NEW_INDEX}*"):
        left.unlink(missing_ok=True)


def _take(folder: Path) -> None:
    ours, lock = folder / _OURS, folder / "index.lock"
    os.close(os.open(ours, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        try:
            os.link(ours, lock)
        except FileExistsError:
            raise
        except OSError:  # exFAT and the like
            os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        ours.unlink()
        raise InputError(
            f"another git is at work on {folder.parent}: {lock} exists", hint=f"none is? rm {lock}"
        ) from error
