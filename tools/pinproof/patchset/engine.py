"""Apply a file's diff to its bytes in memory, by the rules of `git apply` and with no fuzz."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec

from pinproof.errors import Conflict
from pinproof.patchset.patchfile import FileDiff, Hunk

# How far from its line a hunk is looked for at first, in lines; and how many places are tried for all
# hunks of one file: no real patch needs a thousandth.
_FIRST_RADIUS = 64
_MOST_TRIES = 2_000_000
_REPETITIVE = "the file repeats itself and the hunks' line numbers are wrong: too many places to try"


class HunkConflict(Conflict):
    """A hunk whose lines are not in the file.

    Attributes:
        path: the file.
        index: which hunk of the file's diff, from 1.
        hunk: the hunk itself.
    """

    def __init__(self, path: str, index: int, hunk: Hunk, why: str) -> None:
        super().__init__(f"{path}: hunk {index} (line {hunk.old_start}) does not apply: {why}")
        self.path = path
        self.index = index
        self.hunk = hunk
        self.why = why


def reverse_diff(diff: FileDiff) -> FileDiff:
    """The diff that undoes `diff`."""
    swap = {b"+": b"-", b"-": b"+"}
    hunks = tuple(
        Hunk(hunk.new_start, hunk.new_count, hunk.old_start, hunk.old_count, hunk.section,
             tuple(swap.get(line[:1], line[:1]) + line[1:] for line in hunk.lines))
        for hunk in diff.hunks
    )  # fmt: skip
    kinds = {"add": "delete", "delete": "add", "modify": "modify"}
    return msgspec.structs.replace(
        diff, kind=kinds[diff.kind], old_id=diff.new_id, new_id=diff.old_id, hunks=hunks
    )


def apply_diff(content: bytes | None, diff: FileDiff, *, reverse: bool = False) -> bytes | None:
    """The file's bytes after the diff.

    A file whose lines end with CRLF throughout takes the patch with CRLF line ends.

    Args:
        content: the bytes before, None when there is no such file.
        diff: the change.
        reverse: undo it instead.

    Returns:
        The bytes after, None when the file is gone.

    Raises:
        Conflict: a hunk's old lines are not there, or the file exists (or not) against the diff.
    """
    change = reverse_diff(diff) if reverse else diff
    if (content is None) != (change.kind == "add"):
        what = "does not exist" if content is None else "exists already"
        raise HunkConflict(diff.path, 1, change.hunks[0], f"the file {what}")
    crlf = content is not None and _is_crlf(content) and not _mentions_crlf(change)
    lines = [] if content is None else _lines(content)
    taken = bytearray(len(lines))
    tries = [_MOST_TRIES]
    for index, hunk in enumerate(change.hunks, 1):
        old, new = _with_line_ends(hunk.old(), crlf), _with_line_ends(hunk.new(), crlf)
        at = _find(lines, taken, hunk, old, tries)
        if at is None:
            why = _closest(lines, old) if tries[0] > 0 else _REPETITIVE
            raise HunkConflict(diff.path, index, hunk, why)
        lines[at : at + len(old)] = new
        taken[at : at + len(old)] = b"\1" * len(new)
    if change.kind == "delete":
        if lines:
            raise HunkConflict(diff.path, 1, change.hunks[0], "the file holds more than the patch removes")
        return None
    return b"".join(lines)


def _lines(content: bytes) -> list[bytes]:
    parts = content.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _is_crlf(content: bytes) -> bool:
    return b"\r\n" in content and content.count(b"\r\n") == content.count(b"\n")


def _mentions_crlf(diff: FileDiff) -> bool:
    """Whether the diff was made on a file with CRLF: then its line ends are to be taken as they are."""
    return any(line.endswith(b"\r\n") for hunk in diff.hunks for line in hunk.lines)


def _with_line_ends(lines: list[bytes], crlf: bool) -> list[bytes]:
    if not crlf:
        return lines
    return [line[:-1] + b"\r\n" if line.endswith(b"\n") else line for line in lines]


def _find(lines: list[bytes], taken: bytearray, hunk: Hunk, old: list[bytes], tries: list[int]) -> int | None:
    """Where the old lines stand: the expected place first, then outwards, later places first.

    A hunk that starts at line 1 must match at the file's begin; one without trailing context, at its
    end. Lines that an earlier hunk wrote are not matched again. (git, apply.c, find_pos.)
    """
    last = len(lines) - len(old)
    if last < 0:
        return None

    def fits(at: int) -> bool:
        tries[0] -= 1
        return taken.find(1, at, at + len(old)) < 0 and lines[at : at + len(old)] == old

    at_begin = hunk.old_start <= 1
    at_end = hunk.lines[-1][:1] != b" "
    if at_begin or at_end:
        places = [0] if at_begin else [last]
        return next((at for at in places if fits(at) and not (at_begin and at_end and at != last)), None)
    start = min(max(hunk.new_start - 1, 0), last)
    radius = _FIRST_RADIUS
    while tries[0] > 0:
        low, high = max(start - radius, 0), min(start + radius, last)
        places = [at for at in _candidates(lines, old, low, high) if tries[0] > 0 and fits(at)]
        if places:
            return min(places, key=lambda at: (abs(at - start), at < start))
        if low == 0 and high == last:
            return None
        radius *= 4
    return None


def _candidates(lines: list[bytes], old: list[bytes], low: int, high: int) -> Iterator[int]:
    """The places from `low` to `high` where the longest old line, which is likely the rarest, is right."""
    offset = max(range(len(old)), key=lambda at: len(old[at]))
    at = low + offset - 1
    with contextlib.suppress(ValueError):  # list.index: a search in C
        while True:
            at = lines.index(old[offset], at + 1, high + offset + 1)
            yield at - offset


def _closest(lines: list[bytes], old: list[bytes]) -> str:
    """What is missing, for a person: the first line of the hunk that the file does not hold."""
    present = set(lines)
    for line in old:
        if line not in present:
            return f"the file has no line {line.decode(errors='replace').strip()[:80]!r}"
    return "its lines are there, but not next to each other"
