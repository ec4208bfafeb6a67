"""Replace several files as one: after a crash at any moment, every file is whole and the set is settled.

The order of writes is what makes it safe:

1. the journal says `preparing` and names the new files;
2. every new file is written beside its target and made durable;
3. the journal says `committed`: from here on the change happens;
4. each new file is renamed over its target (or the target unlinked), and read back;
5. in a git tree, git's index is brought to what the files hold;
6. the journal goes away.

The next run, whatever it is, settles an old journal first: `preparing` is rolled back by deleting the
new files, `committed` is rolled forward by finishing the renames and staging.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from pinproof.errors import InputError, Refused
from pinproof.paths import atomic_write, default_file_mode, read_regular, sync, take_lock
from pinproof.tree import check_relative

_JOURNAL = ".pinproof-journal"
_NEW = ".pinproof-new"
_LARGEST = 16 << 20
# A run that is killed while it starts git leaves the lock to that child until it has started.
_LOCK_WAIT_S = 0.3
_held: set[str] = set()

Stage = Callable[[Sequence[str]], None]
"""Brings git's index to what the worktree holds at these paths."""


class Change(msgspec.Struct, frozen=True):
    """One file's new content; `after` None removes it, `before` None means that it is new."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None


class _Entry(msgspec.Struct, frozen=True):
    path: str
    before: str | None
    after: str | None


class _Journal(msgspec.Struct, frozen=True):
    state: Literal["preparing", "committed"]
    entries: tuple[_Entry, ...]
    staged: bool = False
    """Whether git's index is part of the change."""


@contextlib.contextmanager
def tree_lock(root: Path) -> Iterator[None]:
    """Keep a second apply or revert off this tree; the lock is on the folder itself, no file is left.

    Hold it from reading the files to writing them. It may be taken again while it is held.

    Raises:
        Refused: another run holds it.
    """
    key = os.path.realpath(root)
    if key in _held:
        yield
        return
    fd = os.open(root, os.O_RDONLY)
    try:
        busy = f"another run is changing {root}"
        take_lock(fd, wait_s=_LOCK_WAIT_S, busy=busy, hint="wait for it to end")
        _held.add(key)
        yield
    finally:
        _held.discard(key)
        os.close(fd)


def write_all(root: Path, changes: Sequence[Change], stage: Stage | None = None) -> None:
    """Make all changes, or none of them.

    Call it under tree_lock(), after settle().

    Args:
        root: the tree's root.
        changes: the files, by path relative to `root`; a link inside the tree is followed.
        stage: what brings git's index along, in a git tree.

    Raises:
        Refused: a file is not what it was when the change was planned, or two paths are one file.
        InputError: a link leads out of the tree, or a new file would be made through one.
        OSError: no space or no permission; nothing was changed.
    """
    targets = _targets(root, changes)
    for change, target in zip(changes, targets, strict=True):
        if _digest(target) != _hash(change.before):
            raise Refused(f"{change.path} changed while it was being patched", hint="run again")
    entries = tuple(_Entry(c.path, _hash(c.before), _hash(c.after)) for c in changes)
    journal = _Journal("preparing", entries, stage is not None)
    _write_journal(root, journal)
    try:
        for change, target in zip(changes, targets, strict=True):
            if change.after is not None:
                _write_new(target, change)
        _write_journal(root, msgspec.structs.replace(journal, state="committed"))
    except BaseException:
        _clear(root, entries)
        raise
    _roll_forward(root, entries, stage)


def _targets(root: Path, changes: Sequence[Change]) -> list[Path]:
    """The real files behind the paths, each for one change only."""
    found: dict[Path, str] = {}
    for change in changes:
        target = _target(root, change.path)
        if change.before is None and target != Path(os.path.realpath(root)) / change.path:
            raise InputError(f"{change.path} would be a new file made through a link, at {target}: not done")
        if target in found:
            raise Refused(f"{found[target]} and {change.path} are one file here: {target}")
        found[target] = change.path
    return list(found)


def _write_journal(root: Path, journal: _Journal) -> None:
    atomic_write(root / _JOURNAL, msgspec.json.encode(journal))


def settle(root: Path, stage: Stage | None = None) -> str | None:
    """Finish or roll back what an interrupted run left.

    Args:
        root: the tree's root.
        stage: what brings git's index along, in a git tree.

    Returns:
        What was done, for the user; None when there was nothing to do.

    Raises:
        InputError: the journal is damaged or was planted: nothing is touched.
        Refused: a file was edited since; nothing is touched.
    """
    for stray in root.glob(f".{_JOURNAL}.*.tmp"):  # killed while the journal itself was written
        stray.unlink(missing_ok=True)
    try:
        raw = read_regular(root / _JOURNAL, _LARGEST)
    except FileNotFoundError:
        return None
    try:
        journal = msgspec.json.decode(raw, type=_Journal)
        for entry in journal.entries:
            check_relative(entry.path)
    except (msgspec.DecodeError, InputError) as error:
        raise InputError(
            f"{root / _JOURNAL} is not a journal of ours ({error})", hint="look at it, then delete it"
        ) from error
    if journal.state == "preparing":
        _clear(root, journal.entries)
        return "rolled back an interrupted run"
    for entry in journal.entries:
        target = _target(root, entry.path)
        now = _digest(target)
        ready = entry.after is None or _digest(_new_name(target)) == entry.after
        if now != entry.after and not (now == entry.before and ready):
            raise Refused(
                f"{entry.path} was edited after an interrupted run",
                hint=f"restore it, or delete {root / _JOURNAL} to keep your edit",
            )
    _roll_forward(root, journal.entries, stage if journal.staged else None)
    return "finished an interrupted run"


def _target(root: Path, path: str) -> Path:
    """The real file behind a path of the tree; where it really is, it must be allowed too."""
    real_root = os.path.realpath(root)
    real = Path(os.path.realpath(root / check_relative(path)))
    if real.is_relative_to(real_root):
        check_relative(real.relative_to(real_root).as_posix())
    else:
        raise InputError(
            f"{path} is a link that leads out of the tree to {real}",
            hint="reinstall with copies (uv: --link-mode copy), or give the tree that owns the file",
        )
    return real


def _hash(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _digest(path: Path) -> str | None:
    try:
        return _hash(read_regular(path))
    except FileNotFoundError:
        return None


def _new_name(target: Path) -> Path:
    return target.with_name(f".{target.name}{_NEW}")


def _write_new(target: Path, change: Change) -> None:
    assert change.after is not None
    target.parent.mkdir(parents=True, exist_ok=True)
    new = _new_name(target)
    with contextlib.suppress(FileNotFoundError):
        new.unlink()  # a link planted there must not be followed
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as stream:
        stream.write(change.after)
        stream.flush()
        if change.before is not None:
            like = target.stat()
            with contextlib.suppress(PermissionError):
                os.fchown(stream.fileno(), like.st_uid, like.st_gid)
            os.fchmod(stream.fileno(), stat.S_IMODE(like.st_mode))
        else:
            os.fchmod(stream.fileno(), default_file_mode() if change.mode is None else change.mode)
        os.fsync(stream.fileno())


def _roll_forward(root: Path, entries: Sequence[_Entry], stage: Stage | None) -> None:
    for entry in entries:
        target = _target(root, entry.path)
        if entry.after is None:
            target.unlink(missing_ok=True)
        elif _digest(target) != entry.after:
            os.replace(_new_name(target), target)
        sync(target.parent)
    for entry in entries:
        if _digest(_target(root, entry.path)) != entry.after:
            raise Refused(f"{entry.path} does not hold what was written", hint="look at it, then run again")
    if stage is not None:
        stage([entry.path for entry in entries])
    _clear(root, entries)


def _clear(root: Path, entries: Sequence[_Entry]) -> None:
    """Take away what is left beside the targets, then the journal: after a commit, or instead of one."""
    for entry in entries:
        with contextlib.suppress(OSError):
            _new_name(_target(root, entry.path)).unlink()
    (root / _JOURNAL).unlink(missing_ok=True)
    sync(root)
