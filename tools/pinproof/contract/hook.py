"""What a commit moves: its pin files against those of HEAD, and the calls that break by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from pinproof.contract.check import check_tree
from pinproof.contract.output.findings import Finding, findings
from pinproof.contract.watch.watchlist import Watched
from pinproof.git import git
from pinproof.pins import Pin, deciding, read_pins
from pinproof.pins.places import pin_files
from pinproof.tree import Tree


class PinMove(msgspec.Struct, frozen=True, kw_only=True):
    """A library whose deciding pin is another than in HEAD, and how many calls that breaks."""

    library: str
    before: Pin
    after: Pin
    breaks: int

    def sentence(self) -> str:
        """`LIBRARY moved from A to B (FILE:LINE), breaks N calls`."""
        calls = f"{self.breaks} call{'s' * (self.breaks != 1)}"
        what = f"breaks {calls}" if self.breaks else "breaks no call"
        return (
            f"{self.library} moved from {self.before.spec} to {self.after.spec} ({self.after.where}), {what}"
        )


def split(tree: Tree, files: Iterable[str]) -> tuple[list[str], list[str]]:
    """The pin files and the Python files among the files of a commit; others say nothing here."""
    globs = pin_files(tree.package)
    given = list(files)
    pins = [path for path in given if any(fnmatchcase(path, glob) for glob in globs)]
    return pins, [path for path in given if path.endswith(".py")]


def before_commit(tree: Tree, pins: Sequence[str]) -> Tree:
    """The tree with its pin files as HEAD has them."""
    root = tree.disk_root()
    return tree.with_changes({path: _at_head(root, path) for path in pins})


def _at_head(root: object, path: str) -> bytes | None:
    from pathlib import Path

    done = git(["show", f"HEAD:./{path}"], cwd=Path(str(root)), check=False)
    return done.stdout if done.returncode == 0 else None


def moves(
    tree: Tree, pins: Sequence[str], found: Sequence[Finding], watched: tuple[Watched, ...]
) -> Iterator[PinMove]:
    """The pins that the commit moves, each with the calls that fail now and did not before.

    Args:
        tree: the tree as it is to be committed.
        pins: the pin files that the commit changes.
        found: the findings of the whole tree.
        watched: the watch list.
    """
    old = before_commit(tree, pins)
    before, after = deciding(read_pins(old)), deciding(read_pins(tree))
    moved = {n: (before[n], pin) for n, pin in after.items() if n in before and before[n].spec != pin.spec}
    mine = {name: library.name for library in watched for name in library.pinned_as if name in moved}
    if not mine:
        return
    # Only what fails now can be broken by the move: the other files need no second look.
    failing = sorted({f.file for f in found if f.library in mine.values()})
    known = (
        {f.id for f in findings(check_tree(old, files=failing, watched=watched).calls)} if failing else set()
    )
    breaks = Counter(f.library for f in found if f.fails and f.id not in known)
    for name, library in sorted(mine.items()):
        yield PinMove(library=name, before=moved[name][0], after=moved[name][1], breaks=breaks[library])
