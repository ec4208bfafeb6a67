"""Where pinproof keeps files of its own, and how it writes them so that no crash leaves half of one."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from pinproof.errors import InputError, Refused

try:
    import fcntl
except ImportError:  # Windows: the tools run on Linux and macOS; WSL is the way there
    fcntl = None  # type: ignore[assignment]


def cache_dir(*parts: str) -> Path:
    """The cache folder (made on demand): $PINPROOF_CACHE, else the XDG cache folder.

    Where that cannot be written (a container without a home), a folder of this user's below the temporary
    one, with a line to say so.

    Raises:
        OSError: $PINPROOF_CACHE cannot be written.
    """
    base = os.environ.get("PINPROOF_CACHE")
    home = os.path.expanduser("~")  # noqa: PTH111 (Path's raises where there is no home)
    root = Path(base) if base else _own_cache(os.environ.get("XDG_CACHE_HOME"), home)
    path = root.joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


@lru_cache(maxsize=8)
def _own_cache(xdg: str | None, home: str) -> Path:
    root = (Path(xdg) if xdg else Path(home) / ".cache") / "pinproof"
    if root.is_absolute():  # with no HOME and no entry in passwd, expanduser leaves its "~"
        with contextlib.suppress(OSError):
            root.mkdir(parents=True, exist_ok=True)
            if os.access(root, os.W_OK | os.X_OK):
                return root
    import sys

    fallback = _temporary(os.getuid())
    sys.stderr.write(f"pinproof: cannot write {root}; the cache is {fallback} ($PINPROOF_CACHE sets it)\n")
    return fallback


def _temporary(uid: int) -> Path:
    """A folder below the temporary one that nobody else could have put there."""
    root = Path(tempfile.gettempdir()) / f"pinproof-cache-{uid}"
    with contextlib.suppress(FileExistsError):
        root.mkdir(mode=0o700)
    found = root.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o022:
        return root
    return Path(tempfile.mkdtemp(prefix="pinproof-cache-"))


def atomic_write(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace `path` by `data` so that a reader sees the old bytes or the new ones, never a mix.

    Args:
        path: the file to write; its folder must exist.
        data: the whole new content.
        mode: permission bits for the new file; default is what the umask gives.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:60]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, default_file_mode() if mode is None else mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    sync(path.parent)


def read_regular(path: Path, largest: int | None = None) -> bytes:
    """The bytes of a plain file, or of what a link to one leads to.

    Args:
        path: the file.
        largest: the most bytes it may hold; None for any number.

    Raises:
        FileNotFoundError: it is not there.
        InputError: it is a pipe, a socket or a device, where reading never ends; or it is too large.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as stream:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise InputError(f"{path} is not a plain file")
        data = stream.read(-1 if largest is None else largest + 1)
    if largest is not None and len(data) > largest:
        raise InputError(f"{path} is larger than {largest >> 20} MiB: not read")
    return data


def sync(path: Path) -> None:
    """Make a file's content, or a folder's renames and unlinks, durable."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def default_file_mode() -> int:
    """The permission bits that a plain open() would give: mkstemp's 0600 hides cache files."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextlib.contextmanager
def file_lock(path: Path, *, wait_s: float = 0.0, busy: str = "another run is at work") -> Iterator[None]:
    """Hold an exclusive lock on `path` (made on demand); the kernel drops it when the process dies.

    Args:
        path: the lock file; it stays behind, empty, so that no two runs lock different inodes.
        wait_s: how long to wait for another holder before giving up.
        busy: what to tell the user then.

    Raises:
        Refused: the lock is held by another process.
    """
    if fcntl is None:  # pragma: no cover
        yield
        return
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        take_lock(fd, wait_s=wait_s, busy=f"{busy} ({path})", hint="wait for it to end, then run again")
        yield
    finally:
        os.close(fd)


def take_lock(fd: int, *, wait_s: float, busy: str, hint: str) -> None:
    """Lock an open file or folder for this process alone, until it is closed.

    Raises:
        Refused: another process still holds it after `wait_s` seconds.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Refused(busy, hint=hint) from None
            time.sleep(0.01)
