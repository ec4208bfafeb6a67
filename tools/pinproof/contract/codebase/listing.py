"""The Python files of a tree, read as fast as the disk gives them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pinproof.tree import DiskFiles, Files, OverlayFiles, Tree

_SKIP = {".git", ".venv", "node_modules", "__pycache__"}
# A Python file beyond this is data, and parsing takes 500 times its size; it is reported as not read.
# The largest that vLLM 0.33.0 or the libraries it pins hold has 0.33 MB.
LARGEST = 1024 * 1024


class Listed(NamedTuple):
    """One file: its path in the tree; on disk, what tells whether it has changed since it was read."""

    path: str
    stamp: tuple[int, int, int, int] | None


def python_files(tree: Tree, packages: tuple[str, ...]) -> list[Listed]:
    """Every `.py` file below the tree's packages, sorted; links are not followed."""
    if isinstance(tree.files, DiskFiles):
        found = list(_walk(os.fspath(tree.files.root), packages))
        return sorted(found)
    return [Listed(path, None) for package in packages for path in tree.files.paths(package, ".py")]


def unlisted(tree: Tree, names: tuple[str, ...]) -> dict[str, str]:
    """The folders of a tree on disk that could not be looked into, each with the reason.

    A linked folder is not followed; one that leads to a place in the same tree is read there.
    """
    if not isinstance(tree.files, DiskFiles):
        return {}
    root = os.fspath(tree.files.root)
    return {path: why for name in names for path, why in _closed(root, name, os.path.realpath(root))}


def _closed(root: str, folder: str, real: str) -> Iterator[tuple[str, str]]:
    todo = [folder]  # a list, not recursion: folders may be nested deeper than Python recurses
    while todo:
        here = todo.pop()
        try:
            entries = list(os.scandir(f"{root}/{here}"))
        except OSError as error:
            yield here, f"the folder cannot be opened: {error.strerror}"
            continue
        for entry in entries:
            path = f"{here}/{entry.name}"
            if entry.name in _SKIP or not entry.is_dir():
                continue
            if not entry.is_symlink():
                todo.append(path)
            elif not os.path.realpath(entry.path).startswith(real + os.sep):
                target = os.path.realpath(entry.path)
                yield path, f"a link that leads out of the tree is not followed (-> {target})"


def packages(tree: Tree) -> tuple[str, ...]:
    """The import packages of a tree: those it was found to hold; every one that a release's wheel holds."""
    if tree.packages:
        return tree.packages
    if tree.kind != "release":
        return (tree.package,)
    tops = {path.split("/", 1)[0] for path in tree.files.paths("", ".py") if "/" in path}
    return tuple(sorted(top for top in tops if top.isidentifier())) or (tree.package,)


def prefetch(tree: Tree, names: tuple[str, ...]) -> None:
    """Bring a release's Python files here with as few requests as their places in the wheel allow."""
    tree.prefetch(path for name in names for path in tree.files.paths(name, ".py"))


def _walk(root: str, folders: tuple[str, ...]) -> Iterator[Listed]:
    todo = list(folders)  # no recursion: a tree may be a thousand folders deep
    while todo:
        folder = todo.pop()
        try:
            entries = list(os.scandir(f"{root}/{folder}"))
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if entry.name.endswith(".py"):
                stamp = _stamp(entry)
                if stamp is not None:
                    yield Listed(path, stamp)
            elif entry.is_dir(follow_symlinks=False) and entry.name not in _SKIP:
                todo.append(path)


def _stamp(entry: os.DirEntry[str]) -> tuple[int, int, int, int] | None:
    """Size, times and inode of a regular file; a link has none: it is read through the tree each time."""
    if entry.is_symlink():
        return (0, 0, 0, 0)
    if not entry.is_file(follow_symlinks=False):
        return None
    stat = entry.stat(follow_symlinks=False)
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def read(tree: Tree, listed: Listed) -> bytes | None:
    """The bytes of a listed file; None when it is gone, or too large to be source."""
    if listed.stamp is None or listed.stamp[3] == 0 or not isinstance(tree.files, DiskFiles):
        data = tree.read(listed.path)  # a link's own size says nothing
        return None if data is not None and len(data) > LARGEST else data
    if listed.stamp[0] > LARGEST:
        return None
    try:
        handle = os.open(f"{tree.files.root}/{listed.path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        chunks = []
        while chunk := os.read(handle, 1 << 22):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(handle)


def why_unread(tree: Tree, listed: Listed) -> str:
    """Why a listed file gave no bytes."""
    if listed.stamp is not None and listed.stamp[0] > LARGEST:
        return f"larger than {LARGEST >> 20} MiB, which is no source"
    return tree.trouble(listed.path) or "it is gone"


def existence(tree: Tree, names: tuple[str, ...]) -> Callable[[str], bool]:
    """A quick answer to whether the tree has a Python file of a path."""
    return _existence(tree.files, names)


def _existence(files: Files, names: tuple[str, ...]) -> Callable[[str], bool]:
    if isinstance(files, OverlayFiles):
        changed, below = files.changed, _existence(files.base, names)
        return lambda path: changed[path] is not None if path in changed else below(path)
    if isinstance(files, DiskFiles):
        root = os.fspath(files.root)
        return lambda path: os.path.isfile(f"{root}/{path}")  # noqa: PTH113 - thousands of these a run
    known = frozenset(path for name in names for path in files.paths(name, ".py"))
    return known.__contains__
