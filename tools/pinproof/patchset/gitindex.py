"""What git knows of the files that a patch touches: whether an edit would be lost, and staging them."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from pinproof.errors import Conflict, Refused
from pinproof.git import git
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.indexlock import NEW_INDEX
from pinproof.patchset.patchfile import Patch
from pinproof.paths import sync
from pinproof.tree import Tree

_COMMIT_FIRST = "commit or stash them, then run again"


class _Entry(msgspec.Struct, frozen=True):
    """One file in the index; `tag` is what `git ls-files -v` prints before it."""

    tag: str
    mode: str
    blob: str


def refuse_dirty(tree: Tree, root: Path, paths: Sequence[str], series: Sequence[Patch]) -> None:
    """Refuse when a file to be written holds changes that are not the series' own.

    HEAD, index and worktree are compared by content with every patch of the series taken out, so a
    patch that is in, staged or not, is not an edit. `git status` is not asked: it believes the
    assume-unchanged and skip-worktree marks.

    Raises:
        Refused: an edit, a merge conflict, an untracked file, or a link.
    """
    index = _index(root, paths)
    head = _head(root, paths)
    for path in paths:
        entry, content = index.get(path), tree.read(path)
        if entry is None and content is not None:
            raise Refused(
                f"{path} is not tracked by git in {tree.name}", hint="add it, or give a plain folder"
            )
        _refuse_odd(path, entry, tree)
        if not _explained(path, entry, head.get(path), content, root, series):
            raise Refused(f"{path} has uncommitted changes in {tree.name}", hint=_COMMIT_FIRST)


def stage(root: Path, folder: Path, paths: Sequence[str]) -> None:
    """Bring these files' index entries to what the worktree holds; an entry's mode stays as it is.

    The new index is made beside the old one and renamed over it. Hold index_lock().

    Args:
        root: the tree's root.
        folder: git's own folder of this tree.
        paths: the files.

    Raises:
        InputError: git cannot write the index (no space, no permission).
    """
    fd, name = tempfile.mkstemp(prefix=NEW_INDEX, dir=folder)
    os.close(fd)
    made, index = Path(name), folder / "index"
    try:
        shutil.copy2(index, made) if index.exists() else made.unlink()
        known = _index(root, paths)
        _update(root, made, ["--remove"], [path for path in paths if path in known])
        _update(
            root, made, ["--add"], [path for path in paths if path not in known and (root / path).exists()]
        )
        if made.exists():
            sync(made)
            os.replace(made, index)
    finally:
        made.unlink(missing_ok=True)
    sync(folder)


def _update(root: Path, index: Path, how: Sequence[str], paths: Sequence[str]) -> None:
    """Update an index file; for entries that are there, file modes are the index's, not the disk's."""
    if not paths:
        return
    settings = [] if "--add" in how else ["-c", "core.fileMode=false"]
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    git([*settings, "update-index", *how, "-z", "--stdin"], cwd=root, stdin=names,
        env={"GIT_INDEX_FILE": str(index.resolve())})  # fmt: skip


def store_blobs(root: Path, contents: Iterable[tuple[str, bytes | None]]) -> None:
    """Write the contents into git's object store: what could fail later fails now, with nothing changed.

    Raises:
        InputError: git cannot (no space, no permission).
    """
    for path, content in contents:
        if content is not None:
            git(["hash-object", "-w", "--stdin", f"--path={path}"], cwd=root, stdin=content)


def _refuse_odd(path: str, entry: _Entry | None, tree: Tree) -> None:
    if entry is None:
        return
    if entry.tag == "M":
        raise Refused(f"{path} has uncommitted changes in {tree.name} (a merge conflict)", hint=_COMMIT_FIRST)
    if not entry.mode.startswith("100"):
        raise Refused(f"{path} is a link in {tree.name}, not a file", hint="patch the file it points to")
    if entry.tag != "H":
        raise Refused(
            f"{path} may have uncommitted changes in {tree.name}: git is told not to look at it",
            hint=f"git update-index --no-assume-unchanged --no-skip-worktree {path}",
        )


def _explained(
    path: str, entry: _Entry | None, committed: str | None, content: bytes | None, root: Path,
    series: Sequence[Patch],
) -> bool:  # fmt: skip
    staged = entry.blob if entry else None
    clean = _same(path, content, staged, root)
    if clean and staged == committed:
        return True
    states = [_blob(root, committed), _blob(root, staged), *([] if clean else [content])]
    bare = [_stripped(path, state, series) for state in states]
    return all(state == bare[0] for state in bare)


def _same(path: str, content: bytes | None, blob: str | None, root: Path) -> bool:
    """Whether the worktree holds what is staged: the same bytes, or the same once git has cleaned them."""
    if content is None or blob is None:
        return content is None and blob is None
    kind = "sha1" if len(blob) == 40 else "sha256"
    if hashlib.new(kind, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == blob:
        return True
    return git(["hash-object", "--", path], cwd=root).stdout.decode().strip() == blob


def _index(root: Path, paths: Sequence[str]) -> dict[str, _Entry]:
    listed = git(["ls-files", "-s", "-v", "-z", "--", *_literal(paths)], cwd=root).stdout
    found: dict[str, _Entry] = {}
    for line in filter(None, listed.split(b"\0")):
        fields, _, path = line.partition(b"\t")
        tag, mode, blob, stage = fields.decode().split(" ")
        found[path.decode()] = _Entry("M" if stage != "0" else tag, mode, blob)
    return found


def _head(root: Path, paths: Sequence[str]) -> Mapping[str, str]:
    """Blob ids in the last commit; empty when there is none."""
    listed = git(["ls-tree", "-r", "-z", "HEAD", "--", *paths], cwd=root, check=False)
    lines = filter(None, listed.stdout.split(b"\0"))
    pairs = (line.partition(b"\t")[::2] for line in lines)
    return {path.decode(): fields.decode().split(" ")[2] for fields, path in pairs}


def _literal(paths: Sequence[str]) -> list[str]:
    """Pathspecs that match these names only, whatever `*` or `[` they hold."""
    return [f":(literal){path}" for path in paths]


def _blob(root: Path, blob: str | None) -> bytes | None:
    return None if blob is None else git(["cat-file", "blob", blob], cwd=root).stdout


def _stripped(path: str, content: bytes | None, series: Sequence[Patch]) -> bytes | None:
    """The content without any patch of the series that is in it."""
    for patch in reversed(series):
        for diff in patch.diffs:
            if diff.path == path:
                try:
                    content = apply_diff(content, diff, reverse=True)
                except Conflict:
                    continue
    return content
