"""A repository's history through git: the trunk's commits, where branches leave it, what they change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from pinproof.git import git

# One git process reads the diffs of so many heads; its whole output is held in memory.
_BATCH = 64
_TREES = re.compile(rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n", re.MULTILINE)
_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_PATH = re.compile(r'^(?:\+\+\+|---|rename to) "?(?:[ab]/)?(.*?)"?\t?$', re.MULTILINE)
_HUNKS = re.compile(r"^@@ ", re.MULTILINE)

Changed = list[tuple[str, str | None]]
"""The files of a diff as (path, hunks); None where git shows no text (a binary file)."""


class Commit(msgspec.Struct, frozen=True):
    """A commit: its tree, its parents, when it was written and committed (seconds), and its message."""

    id: str
    tree: str
    parents: tuple[str, ...]
    authored: int
    committed: int
    author: str
    subject: str
    body: str


def commits(repo: Path, revisions: Sequence[str], *options: str) -> Iterator[Commit]:
    """The commits that `git log` lists for revisions (`^name` leaves out what that one has)."""
    done = git(
        ["log", *options, "--format=%H%x00%T%x00%P%x00%at%x00%ct%x00%an%x00%s%x00%b%x00%x01", "--stdin"],
        cwd=repo, stdin="\n".join(revisions).encode() + b"\n",
    )  # fmt: skip
    for record in done.stdout.decode("utf-8", "replace").split("\0\x01"):
        fields = record.lstrip("\n").split("\0")
        if len(fields) == 8:
            identity, tree, parents, authored, committed, *texts = fields
            yield Commit(identity, tree, tuple(parents.split()), int(authored), int(committed), *texts)


class Trunk:
    """The commits of the trunk and of release branches: tells where another branch left them.

    A branch that takes changes only by squash is one line, and on one line the merge base is the newest
    commit among the ancestors of a head.
    """

    def __init__(self, made: Iterable[Commit]) -> None:
        order = sorted(made, key=lambda commit: -commit.committed)
        self.place = {commit.id: at for at, commit in enumerate(order)}

    def base(self, head: str, parents: dict[str, tuple[str, ...]]) -> str | None:
        """The newest of these commits that `head` stands on; None when none is known."""
        seen, heap, found = {head}, [head], None
        while heap:
            commit = heap.pop()
            if commit in self.place:
                if found is None or self.place[commit] < self.place[found]:
                    found = commit
                continue
            fresh = [parent for parent in parents.get(commit, ()) if parent not in seen]
            seen.update(fresh)
            heap.extend(fresh)
        return found


def diffs(repo: Path, pairs: Sequence[tuple[str, str]]) -> Iterator[Changed | None]:
    """What lies between pairs of trees, in their order, as `git diff` shows it with renames found.

    None for a pair that git cannot read (an object is missing).
    """
    for at in range(0, len(pairs), _BATCH):
        yield from _batch(repo, pairs[at : at + _BATCH])


def _batch(repo: Path, pairs: Sequence[tuple[str, str]]) -> Iterator[Changed | None]:
    done = git(
        ["-c", "core.quotePath=false", "-c", "diff.renameLimit=400", "diff-tree", "--stdin", "-r", "-p",
         "-M", "--no-ext-diff", "--no-textconv", "--full-index"],
        cwd=repo, stdin="".join(f"{before} {after}\n" for before, after in pairs).encode(), check=False,
    )  # fmt: skip
    found = _split(done.stdout, pairs) if done.returncode == 0 else None
    if found is not None:
        yield from found
    elif len(pairs) == 1:
        yield None
    else:  # a missing object ends the whole process, or is passed over: find the pair that it belongs to
        half = len(pairs) // 2
        yield from _batch(repo, pairs[:half])
        yield from _batch(repo, pairs[half:])


def _split(output: bytes, pairs: Sequence[tuple[str, str]]) -> list[Changed] | None:
    """The diff of each pair; None when git did not answer all of them in turn."""
    marks = list(_TREES.finditer(output))
    if [(mark[1].decode(), mark[2].decode()) for mark in marks] != list(pairs):
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(output)]
    return [
        changed_files(output[mark.end() : end].decode("utf-8", "replace"))
        for mark, end in zip(marks, ends, strict=True)
    ]


def changed_files(text: str) -> Changed:
    """The files of one diff in git's form."""
    found: Changed = []
    for part in _FILE.split(text)[1:]:
        start = _HUNKS.search(part)
        header = part[: start.start()] if start else part
        paths = [path for path in _PATH.findall(header) if path != "/dev/null"]
        first = header.partition("\n")[0]
        path = paths[-1] if paths else first[len(first) // 2 + 1 :].removeprefix("b/")
        binary = start is None and "\nBinary files " in header
        found.append((path, part[start.start() :] if start else (None if binary else "")))
    return found
