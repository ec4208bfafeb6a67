"""What git knows of the files that a patch touches: whether an edit would be lost, and staging them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from pinproof.errors import Conflict, Refused
from pinproof.git import git
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import Patch
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
    patch that is in, staged or not, is no edit. `git status` is not asked: it believes the
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


def stage(root: Path, paths: Iterable[str]) -> None:
    """Bring these files' index entries to what the worktree holds.

    Raises:
        InputError: git cannot write the index (another git is at work, no space).
    """
    names = b"".join(path.encode() + b"\0" for path in paths)
    git(["update-index", "--add", "--remove", "-z", "--stdin"], cwd=root, stdin=names)


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
