"""What a diff changes, in a form that two diffs against different bases can be compared by."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator

import msgspec

from pinproof.duplicates.tokens import code_names, pinned_values
from pinproof.patchset.patchfile import FileDiff

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,\d{1,9})? @@ ?(.*)")
_SCOPE = re.compile(r"\b(?:def|class|fn|struct|impl|function)\s+([A-Za-z_]\w*)")
# Names are read from so many changed lines, the lines themselves compared up to the second figure.
_NAMED_LINES, _MOST_LINES = 4_000, 20_000


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a hunk stands before the change: file, first and last line, enclosing function or class."""

    path: str
    first: int
    last: int
    scope: str


class DiffFacts(msgspec.Struct, frozen=True):
    """The comparable facts of one diff.

    `removed` and `added` are names that stand on one side of the changes only, `kept` those on both;
    `lines` are hashes of the changed lines without white space, each with its sign but without its file: a
    change is the same in a file that was moved;
    `pins` are versions and commits on added lines; `change_id` is equal for two diffs that change the
    same lines of the same files, wherever those stand (None for a diff without a letter or digit).
    """

    change_id: str | None
    places: list[Place]
    removed: set[str]
    added: set[str]
    kept: set[str]
    lines: set[int]
    pins: set[str]
    whole: bool = True
    """False when a part of the diff was not available (GitHub leaves out large files)."""


class Line(msgspec.Struct, frozen=True):
    """One changed line: its file, '+' or '-', and its text."""

    path: str
    sign: str
    text: str


def facts_of_patch(diffs: Iterable[FileDiff]) -> DiffFacts:
    """The facts of a parsed patch file."""
    places: list[Place] = []
    lines: list[Line] = []
    for diff in diffs:
        for hunk in diff.hunks:
            text = [line.decode("utf-8", "replace").rstrip("\r\n") for line in hunk.lines]
            section = hunk.section.decode("utf-8", "replace")
            places.append(_place(diff.path, hunk.old_start, section, text))
            lines.extend(Line(diff.path, line[0], line[1:]) for line in text if line[:1] in "+-")
    return _facts(places, lines, whole=True)


def facts_of_files(files: Iterable[tuple[str, str | None]], *, whole: bool = True) -> DiffFacts:
    """The facts of a pull request, from (path, patch text) as GitHub's list of changed files has them.

    A file whose patch text is None (binary or too large) makes the result not `whole`.
    """
    places: list[Place] = []
    lines: list[Line] = []
    for path, patch in files:
        if patch is None:
            whole = False
            continue
        for start, section, text in _hunks(patch):
            places.append(_place(path, start, section, text))
            lines.extend(Line(path, line[0], line[1:]) for line in text if line[:1] in ("+", "-"))
    return _facts(places, lines[:_MOST_LINES], whole=whole and len(lines) <= _MOST_LINES)


def _hunks(patch: str) -> Iterator[tuple[int, str, list[str]]]:
    current: tuple[int, str, list[str]] | None = None
    for line in patch.split("\n"):
        if match := _HUNK.match(line):
            if current:
                yield current
            current = (int(match[1]), match[3], [])
        elif current:
            current[2].append(line)
    if current:
        yield current


def _place(path: str, start: int, section: str, lines: list[str]) -> Place:
    """The part of a hunk that really changes, and the scope nearest above it."""
    scope = _SCOPE.search(section)
    name = scope[1].lower() if scope else ""
    at = start
    changed: list[int] = []
    for line in lines:
        if line[:1] in ("+", "-"):
            changed.append(at)
        elif not changed and (inner := _SCOPE.search(line)):
            name = inner[1].lower()
        at += line[:1] != "+"
    return Place(path, changed[0] if changed else start, changed[-1] if changed else start, name)


def _facts(places: list[Place], lines: list[Line], *, whole: bool) -> DiffFacts:
    removed: set[str] = set()
    added: set[str] = set()
    pins: set[str] = set()
    for line in lines[:_NAMED_LINES]:
        side = added if line.sign == "+" else removed
        values = pinned_values(line.text)
        side.update(code_names(line.text), values)
        if line.sign == "+":
            pins |= values
    return DiffFacts(
        change_id=_change_id(lines), places=places, removed=removed - added, added=added - removed,
        kept=removed & added, lines=set(map(_hash, filter(informative, lines))), pins=pins, whole=whole,
    )  # fmt: skip


def informative(line: Line) -> bool:
    """Whether a changed line says something: brackets and blank lines are alike everywhere."""
    return sum(char.isalnum() for char in line.text) >= 4


def _squeezed(line: Line) -> str:
    return f"{line.sign}{''.join(line.text.split())}"


def _hash(line: Line) -> int:
    """Four bytes: one in a thousand of five million lines meets another's hash and weighs a little less."""
    return zlib.crc32(_squeezed(line).encode("utf-8", "replace"))


def _change_id(lines: list[Line]) -> str | None:
    """As `git patch-id`, without the context lines, which differ when the bases do."""
    if not any(char.isalnum() for line in lines for char in line.text):
        return None
    by_path: dict[str, list[str]] = {}
    for line in lines:
        by_path.setdefault(line.path, []).append(_squeezed(line))
    text = "\n".join(f"{path}\0{item}" for path in sorted(by_path) for item in by_path[path])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
