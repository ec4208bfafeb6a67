"""A patch as the hunks that a person reads, each with the hash of its lines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from pinproof.patchset.patchfile import Hunk, Patch


class NumberedHunk(msgspec.Struct, frozen=True):
    """One hunk: its file, its number in the file from 1, its lines and their SHA-256."""

    path: str
    number: int
    hunk: Hunk
    sha256: str

    @property
    def header(self) -> str:
        """The hunk's header as a diff shows it."""
        part = self.hunk
        section = part.section.decode(errors="replace")
        return f"@@ -{part.old_start},{part.old_count} +{part.new_start},{part.new_count} @@{section}"

    def text(self) -> list[str]:
        """Its lines with their prefix, as text without newlines."""
        return [line.decode(errors="replace").rstrip("\r\n") for line in self.hunk.lines]


def numbered_hunks(patch: Patch) -> Iterator[NumberedHunk]:
    """Every hunk of the patch, in order."""
    for diff in patch.diffs:
        for number, hunk in enumerate(diff.hunks, 1):
            # A newline after each line, so that "last line without one" hashes differently.
            digest = hashlib.sha256(b"".join(line + b"\n" for line in hunk.lines)).hexdigest()
            yield NumberedHunk(diff.path, number, hunk, digest)
