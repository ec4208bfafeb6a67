"""Remember what a run found, keyed by content: nothing is reused unless all that it rests on is the same."""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path

import msgspec

from pinproof import __version__, stamp
from pinproof.contract.codebase import listing
from pinproof.contract.model import LibraryUsed, Unchecked
from pinproof.contract.run.whole import Known, digest
from pinproof.contract.sources import memory
from pinproof.paths import atomic_write, cache_dir
from pinproof.tree import Tree

# A file written this shortly before it was looked at may change again within the clock's grain.
_GRAIN_NS = 2_000_000_000
_FORMAT = f"{__version__}/{memory.FORMAT}/1"


class Saved(msgspec.Struct):
    """One tree's last run.

    `basis` names everything but the tree's Python files that the result rests on: versions of this
    program, the watch list, the pins, the overrides, packages installed beside the tree.
    """

    basis: str
    known: Known
    stamps: dict[str, tuple[int, int, int, int]]
    used: list[LibraryUsed]
    unchecked: list[Unchecked]
    at: float = 0.0


_decoder = msgspec.msgpack.Decoder(Saved)


def place(tree: Tree) -> Path:
    """Where the last run of a tree is kept."""
    name = tree.name if tree.root is None else str(tree.root.resolve())
    return (
        cache_dir("contract")
        / f"{hashlib.sha256(f'{tree.kind} {tree.package} {name}'.encode()).hexdigest()[:32]}"
    )


def load(path: Path, basis: str) -> Saved | None:
    """The last run, None when there is none or it rests on something else; a damaged file counts as none.

    A run in which a library was not available is good for minutes only: the network may be back.
    """
    try:
        found = _decoder.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    stale = any(u.pinned for u in found.unchecked) and time.time() - found.at > memory.REFUSED_S
    return found if found.basis == basis and not stale else None


def save(path: Path, found: Saved) -> None:
    """Keep a run for the next one, written in one step so that no crash leaves half. No error if it fails."""
    with contextlib.suppress(OSError, UnicodeEncodeError):  # a file's name may be no UTF-8
        atomic_write(path, msgspec.msgpack.encode(msgspec.structs.replace(found, at=time.time())))


def basis(parts: list[object]) -> str:
    """The hash of everything beside the tree's Python files that a result rests on."""
    return digest(repr([_FORMAT, stamp.times(), *parts]).encode())


def digests(
    tree: Tree, names: tuple[str, ...], before: Saved | None
) -> tuple[dict[str, str], dict[str, tuple[int, int, int, int]]]:
    """The content hash of every Python file, and the stamps under which it may be reused.

    A file whose size, times and inode are as they were is not read again (as git's index does it).
    """
    hashes: dict[str, str] = {}
    stamps: dict[str, tuple[int, int, int, int]] = {}
    known = before.stamps if before else {}
    old = before.known.digests if before else {}
    now = time.time_ns()
    for item in listing.python_files(tree, names):
        stamp = item.stamp
        if stamp is not None and stamp[3] and known.get(item.path) == stamp and item.path in old:
            hashes[item.path] = old[item.path]
            stamps[item.path] = stamp
            continue
        data = listing.read(tree, item)
        if data is None:
            continue
        hashes[item.path] = digest(data)
        if stamp is not None and stamp[3] and now - max(stamp[1], stamp[2]) > _GRAIN_NS:
            stamps[item.path] = stamp
    return hashes, stamps


def beside(tree: Tree, names: list[str]) -> list[object]:
    """What tells whether packages installed beside the tree have changed."""
    if tree.root is None:
        return []
    found: list[object] = []
    for name in names:
        if (tree.root / name / "__init__.py").is_file():
            found.extend((i.path, i.stamp) for i in listing.python_files(tree, (name,)))
    return found


def unchanged(before: Saved, hashes: dict[str, str]) -> bool:
    """Whether every file is what it was."""
    return before.known.digests == hashes
