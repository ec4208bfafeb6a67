"""Say who may not write where, and what to do about it, when a tree turns out to be read-only."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from pinproof.errors import InputError

_AT_BUILD = "apply it while the image is built, as the user that installed it (docs/images.md)"


@contextlib.contextmanager
def permission_explained(root: Path) -> Iterator[None]:
    """Turn "permission denied" and "read-only file system" into who, where and the way out.

    Raises:
        InputError: instead of those two; nothing was changed.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        folder = _folder(Path(error.filename or root), root)
        if error.errno == errno.EROFS:
            why, hint = "it is on a read-only file system", _AT_BUILD
        else:
            owner = folder.stat()
            why = f"it belongs to {_user(owner.st_uid)}, and this runs as {_user(os.geteuid())}"
            hint = f"run it as {_user(owner.st_uid)}; or {_AT_BUILD}"
        raise InputError(f"cannot write {folder}: {why}; nothing was changed", hint=hint) from error


def _folder(path: Path, root: Path) -> Path:
    """The folder that could not be written: that of the file in question, as far as it exists."""
    folder = path if path.is_dir() else path.parent
    return folder if folder.is_dir() else root


def _user(uid: int) -> str:
    import pwd

    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:  # a container's arbitrary user
        return f"uid {uid}"
