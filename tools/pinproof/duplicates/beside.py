"""A patch and a pull request side by side: each hunk of the patch with the one that is most like it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from pinproof.console import clean, say, stdout
from pinproof.duplicates.history import Changed
from pinproof.patchset.patchfile import FileDiff

_NARROWEST = 60


class Piece(msgspec.Struct, frozen=True):
    """One hunk: its file, the line where it begins, and its lines with their signs."""

    path: str
    start: int
    lines: tuple[str, ...]

    def changed(self) -> set[str]:
        """Its changed lines without white space."""
        return {"".join(line.split()) for line in self.lines if line[:1] in ("+", "-")}


def of_patch(diffs: Iterable[FileDiff]) -> list[Piece]:
    """The hunks of a patch file."""
    return [
        Piece(
            diff.path,
            hunk.old_start,
            tuple(line.decode("utf-8", "replace").rstrip("\n") for line in hunk.lines),
        )
        for diff in diffs
        for hunk in diff.hunks
    ]


def of_files(files: Changed) -> list[Piece]:
    """The hunks of a pull request."""
    found: list[Piece] = []
    for path, text in files:
        for part in (text or "").split("\n@@ -" if text else "\0"):
            head, _, rest = part.removeprefix("@@ -").partition("\n")
            start = head.split(",")[0].split(" ")[0]
            if start.isdecimal():
                found.append(Piece(path, int(start), tuple(rest.rstrip("\n").split("\n"))))
    return found


def matched(ours: list[Piece], theirs: list[Piece]) -> list[tuple[Piece, Piece | None]]:
    """Each hunk of ours with the one of theirs that shares most lines, else the nearest in the same file."""
    return [(piece, max(theirs, key=lambda other: _likeness(piece, other), default=None)) for piece in ours]


def _likeness(ours: Piece, theirs: Piece) -> tuple[int, bool, int]:
    shared = len(ours.changed() & theirs.changed())
    return shared, ours.path == theirs.path, -abs(ours.start - theirs.start)


def show(pairs: list[tuple[Piece, Piece | None]], name: str, number: int) -> None:
    """Print the pairs in two columns as wide as the terminal allows."""
    from rich import box
    from rich.table import Table

    console = stdout()
    console.width = max(console.width, _NARROWEST) if console.is_terminal else 160
    for ours, theirs in pairs:
        same = ours.changed() & theirs.changed() if theirs else set()
        if theirs is not None and not same and theirs.path != ours.path:
            theirs = None
        view = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, expand=True)
        view.add_column(_heading(name, ours), ratio=1, overflow="fold")
        other = _heading(f"#{number}", theirs) if theirs else f"#{number}: not this file"
        view.add_column(other, ratio=1, overflow="fold")
        view.add_row(_text(ours, same), _text(theirs, same) if theirs else "")
        console.print(view)
        say()


def _heading(name: str, piece: Piece) -> str:
    return clean(f"{name} {piece.path}:{piece.start}").replace("[", r"\[")


def _text(piece: Piece, same: set[str]) -> Any:
    """The lines of a hunk; those that both change are marked with '=' where no colour can be seen."""
    from rich.text import Text

    text = Text()
    for line in piece.lines:
        shared = "".join(line.split()) in same
        style = "bold yellow" if shared else {"+": "green", "-": "red"}.get(line[:1], "dim")
        text.append(("= " if shared else "  ") + clean(line) + "\n", style=style)
    return text
