"""A git copy of the tree for hooks to run in, kept between runs, so that the user's tree is never touched."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pinproof import __version__
from pinproof.errors import InputError
from pinproof.gates.precommit.repo import apply_changes, commit, create, git_in, reset, stage
from pinproof.git import git
from pinproof.gitfolder import check_worktree
from pinproof.paths import atomic_write, cache_dir, file_lock
from pinproof.progress import progress
from pinproof.tree import Tree

# A copy of vLLM with its git objects takes 180 MB.
_KEPT = 6
# How long to wait for another check of the same tree: a first run with mypy takes minutes.
_LOCK_WAIT_S = 900.0
# Evidence keeps the diff: a formatter let loose on a whole tree must not fill it.
_LONGEST_DIFF = 256 * 1024
_SLOT = {"lock", "source", "stamps", "tree"}

Stamp = tuple[int, int, int, int]
"""Size, mtime and ctime in nanoseconds, mode: changes when the file does."""


@dataclass(frozen=True)
class Workspace:
    """The copy, with the patch applied and staged on top of one commit that holds the tree as it is.

    Attributes:
        root: the working tree.
        paths: the files that the patch touches.
    """

    root: Path
    paths: tuple[str, ...]
    _source: Path
    _stamps: Mapping[str, Stamp]

    def trespass(self) -> str | None:
        """What was written where no hook may write: beside the copy, or in the user's tree meanwhile.

        What lies beside the copy is removed.
        """
        strays = sorted(path for path in self.root.parent.iterdir() if path.name not in _SLOT)
        for path in strays:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if strays:
            return f"a hook wrote outside the tree: ../{strays[0].name} (removed)"
        now = _stamps(self._source, list(self._stamps))
        changed = [name for name, stamp in self._stamps.items() if now.get(name) != stamp]
        return f"{changed[0]} changed in the tree while the hooks ran: check again" if changed else None

    def rewritten(self) -> dict[str, bytes]:
        """Tracked files that the hooks changed, with their bytes now."""
        names = git_in(self.root, "diff", "--name-only", "-z", "--diff-filter=M").stdout.split(b"\0")
        found = {os.fsdecode(name): self.root / os.fsdecode(name) for name in names if name}
        return {name: path.read_bytes() for name, path in found.items() if not path.is_symlink()}

    def take_patch_out(self) -> None:
        """Go back to the tree without the patch, and without what hooks did."""
        reset(self.root)

    def diff(self) -> str:
        """What the hooks changed, as a unified diff; a very long one is cut and says so."""
        text = git_in(self.root, "diff", "--no-ext-diff", "--no-textconv").stdout.decode(errors="replace")
        cut = len(text) - _LONGEST_DIFF
        return text if cut <= 0 else f"{text[:_LONGEST_DIFF]}\n[{cut} more characters]\n"


@contextlib.contextmanager
def workspace(tree: Tree, changes: Mapping[str, bytes | None]) -> Iterator[Workspace]:
    """The tree with `changes`, in a git repository of its own that hooks may write to.

    The copy stays in the cache: the next run copies only what changed, and mypy finds its cache.

    Args:
        tree: a tree on disk: a git checkout (its tracked and untracked files, without the ignored ones)
            or a plain folder.
        changes: new contents by path; None deletes.

    Raises:
        InputError: the tree is not on disk, or a file of it cannot be read.
        Refused: another check of the same tree is still at work after some minutes.
    """
    source = Path(os.path.realpath(tree.disk_root()))
    home = Path(os.path.realpath(cache_dir("check")))
    # Another version of pinproof may lay out a copy differently.
    slot = home / hashlib.sha256(os.fsencode(source) + __version__.encode()).hexdigest()[:16]
    slot.mkdir(exist_ok=True)
    with file_lock(slot / "lock", wait_s=_LOCK_WAIT_S, busy="another check of this tree is at work"):
        _prune(home, slot)
        (slot / "source").write_bytes(os.fsencode(source))
        os.utime(slot)
        root = slot / "tree"
        _restore(slot, root)
        stamps = _sync(tree, source, slot, root, changes)
        apply_changes(root, changes)
        yield Workspace(root, tuple(changes), source, stamps)


def _prune(home: Path, mine: Path) -> None:
    """Remove the copies of trees that are gone, and all but the most recently used ones."""
    slots = sorted((slot for slot in home.iterdir() if slot.is_dir()), key=lambda slot: -slot.stat().st_mtime)
    for rank, slot in enumerate(slots):
        with contextlib.suppress(OSError):
            gone = not Path(os.fsdecode((slot / "source").read_bytes())).is_dir()
            if slot != mine and (gone or rank >= _KEPT):
                with file_lock(slot / "lock"):
                    shutil.rmtree(slot)


def _restore(slot: Path, root: Path) -> None:
    """Undo what the last run's patch and hooks did; begin anew when that run broke off half-way."""
    if (slot / "stamps").exists() and reset(root):
        return
    (slot / "stamps").unlink(missing_ok=True)
    if root.exists():
        shutil.rmtree(root)
    create(root)
    _borrow_mypy_cache(slot, root)


def _borrow_mypy_cache(slot: Path, root: Path) -> None:
    """Start from the cache of the tree checked last: mypy compares each file's hash and redoes what differs,
    which for another vLLM is a part of the 40 s and for the same one with a patch next to nothing."""
    caches = [path for path in slot.parent.glob("*/tree/.mypy_cache") if path.is_dir()]
    if caches:
        newest = max(caches, key=lambda path: path.stat().st_mtime)
        # Another run may be writing there; a cache with files missing is merely a colder one.
        with contextlib.suppress(OSError, shutil.Error):
            shutil.copytree(newest, root / ".mypy_cache")


def _sync(
    tree: Tree, source: Path, slot: Path, root: Path, changes: Mapping[str, bytes | None]
) -> dict[str, Stamp]:
    """Copy the files that changed since the last run, and commit them; returns what the tree is now."""
    record = slot / "stamps"
    old = _recorded(record)
    own = os.path.relpath(slot.parent, source) + os.sep  # a cache inside the tree must not copy itself
    new = _stamps(source, [name for name in _names(tree, source) if not name.startswith(own)])
    # The patch's own files are always copied: a stamp cannot tell two writes within one clock tick.
    stale = [name for name in new if old.get(name) != new[name] or name in changes]
    gone = [name for name in old if name not in new]
    record.unlink(missing_ok=True)
    with contextlib.ExitStack() as shown:
        # rich is not worth its import for the few files of an ordinary run
        bar = shown.enter_context(progress(f"copying {tree.name}", len(stale))) if len(stale) > 100 else None
        for name in stale:
            _copy(source / name, root / name, new[name][3])
            if bar:
                bar.advance()
    for name in gone:
        (root / name).unlink(missing_ok=True)
    stage(root, [*(stale if tree.kind == "git" else _tracked(tree, root, stale)), *gone])
    if git_in(root, "diff", "--cached", "--quiet", check=False).returncode or not old:
        commit(root)
    # as bytes: a file's name may be no UTF-8
    atomic_write(record, msgspec.msgpack.encode({os.fsencode(name): stamp for name, stamp in new.items()}))
    return new


def _recorded(record: Path) -> dict[str, Stamp]:
    """What the copy held after the last run; nothing when the record is damaged: all is copied again."""
    try:
        stored = msgspec.msgpack.decode(record.read_bytes(), type=dict[bytes, Stamp])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
    return {os.fsdecode(name): stamp for name, stamp in stored.items()}


def _names(tree: Tree, source: Path) -> list[str]:
    if tree.kind != "git":
        return list(tree.files.paths())
    check_worktree(source)
    listed = git(["ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=source).stdout
    return sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})


def _stamps(source: Path, names: Sequence[str]) -> dict[str, Stamp]:
    """A stamp for each regular file, and for each link that stays inside the tree."""
    found: dict[str, Stamp] = {}
    base = f"{source}{os.sep}"  # pathlib would take four times as long over 6,600 files
    for name in names:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            info = os.lstat(base + name)
            if stat.S_ISREG(info.st_mode) or (stat.S_ISLNK(info.st_mode) and _stays_inside(source, name)):
                found[name] = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_mode)
    return found


def _stays_inside(source: Path, name: str) -> bool:
    """Whether a link points, by a relative path, at something in the tree: a copy of any other link
    would let a hook write through it to the user's files."""
    link = source / name
    return not link.readlink().is_absolute() and Path(os.path.realpath(link)).is_relative_to(source)


def _copy(source: Path, target: Path, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        if stat.S_ISLNK(mode):
            target.symlink_to(source.readlink())
        else:
            shutil.copyfile(source, target)
            shutil.copystat(source, target)
    except OSError as error:
        raise InputError(f"cannot copy {source}: {error.strerror}") from error


def _tracked(tree: Tree, root: Path, names: Sequence[str]) -> list[str]:
    """The files of a plain folder that its repository holds, as near as can be told.

    An sdist lists what it was made from; elsewhere .gitignore tells sources from build products.
    """
    sources = tree.read_text(f"{tree.package}.egg-info/SOURCES.txt") or ""
    listed = {
        line for line in sources.splitlines() if not line.endswith("PKG-INFO") and ".egg-info/" not in line
    }
    listing = b"\0".join(map(os.fsencode, names))
    ignored = git_in(root, "check-ignore", "-z", "--stdin", stdin=listing, check=False).stdout
    out = {os.fsdecode(name) for name in ignored.split(b"\0")}
    return [name for name in names if name != "PKG-INFO" and (name in listed or name not in out)]
