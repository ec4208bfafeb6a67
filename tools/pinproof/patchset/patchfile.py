"""A patch file: mail header, prose, fields and diffs, as `git format-patch` writes them."""

from __future__ import annotations

import hashlib
import re
from typing import Literal

import msgspec

from pinproof.errors import InputError
from pinproof.tree import check_relative

DiffKind = Literal["modify", "add", "delete"]

LARGEST = 8 * 1024 * 1024
_MOST_FILES = 500
_FIELD = re.compile(r"([A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*):(?: (.*))?")
_FROM_LINE = re.compile(rb"From [0-9a-f]{40} Mon Sep 17 00:00:00 2001\n")
_DIFF = re.compile(rb"diff --git a/(.+) b/(.+)\n")
_INDEX = re.compile(rb"index ([0-9a-f]{7,64})\.\.([0-9a-f]{7,64})(?: (\d{6}))?\n")
_MODE = re.compile(rb"(new|deleted) file mode (\d{6})\n")
_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)\n")
_REFUSED = (
    (b"rename ", "renames a file"),
    (b"copy ", "copies a file"),
    (b"similarity index", "renames a file"),
    (b"dissimilarity index", "rewrites a file"),
    (b"old mode", "changes a file's mode"),
    (b"new mode", "changes a file's mode"),
    (b"GIT binary patch", "holds a binary diff"),
    (b"Binary files", "holds a binary diff"),
)
_PLAIN_MODES = {b"100644", b"100755"}
NO_NEWLINE = b"\\ No newline at end of file\n"


class Hunk(msgspec.Struct, frozen=True):
    """One hunk of a unified diff.

    `lines` keep their ' ', '-' or '+' prefix and their newline; the last line of a file that does
    not end with one has none. `section` is the text git puts after the second @@.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: bytes
    lines: tuple[bytes, ...]

    def old(self) -> list[bytes]:
        """The lines before the change, without prefix."""
        return [line[1:] for line in self.lines if line[:1] in b" -"]

    def new(self) -> list[bytes]:
        """The lines after the change, without prefix."""
        return [line[1:] for line in self.lines if line[:1] in b" +"]


class FileDiff(msgspec.Struct, frozen=True):
    """What a patch does to one file; `mode` is the file's mode as git writes it (100644)."""

    path: str
    kind: DiffKind
    mode: str | None
    old_id: str | None
    new_id: str | None
    hunks: tuple[Hunk, ...]


class Patch(msgspec.Struct, frozen=True):
    """A parsed patch file.

    `subject` has its `[PATCH]` prefix removed and the upstream's own [tags] kept. `fields` maps each
    field of the header to its values in order. `problems` are header lines that are no field although
    they stand among them: lint reports these.
    """

    name: str
    raw: bytes
    subject: str
    author: str
    date: str
    prose: str
    fields: dict[str, list[str]]
    problems: tuple[str, ...]
    diffs: tuple[FileDiff, ...]

    @property
    def sha256(self) -> str:
        """The hash of the patch's bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def number(self) -> str:
        """The leading number of its file name: `0001`."""
        return self.name.split("-", 1)[0]

    def field(self, name: str) -> str | None:
        """The first value of a field, None when it is absent."""
        values = self.fields.get(name)
        return values[0] if values else None

    def paths(self) -> tuple[str, ...]:
        """The files it touches."""
        return tuple(diff.path for diff in self.diffs)


def parse_patch(raw: bytes, name: str) -> Patch:
    """Parse the bytes of a patch file.

    Args:
        raw: `git format-patch` output with one commit.
        name: its file name, for messages.

    Raises:
        InputError: it is truncated, malformed, or does what a patch here may not do (leave the
            tree, rename, change modes, hold binary hunks).
    """
    if len(raw) > LARGEST:
        raise InputError(f"{name}: larger than {LARGEST >> 20} MiB, which is no small patch")
    if not _FROM_LINE.match(raw):
        raise InputError(
            f"{name}: does not begin as `git format-patch` output", hint="git format-patch --zero-commit -1"
        )
    start = re.search(rb"^diff --git ", raw, re.MULTILINE)
    if start is None:
        raise InputError(f"{name}: holds no diff; it is empty or cut short")
    headers, body = _message(raw[: start.start()], name)
    prose, fields, problems = split_fields(body)
    diffs = _Reader(raw[start.start() :], name).diffs()
    subject = re.sub(r"^\[PATCH[^\]]*\] *", "", headers["subject"])
    return Patch(name, raw, subject, headers["from"], headers["date"], prose, fields, problems, diffs)


def _message(head: bytes, name: str) -> tuple[dict[str, str], str]:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: its message is not UTF-8 ({error.reason})") from error
    if "\0" in text:
        raise InputError(f"{name}: its message holds a NUL byte")
    top, _, body = text.split("\n", 1)[1].partition("\n\n")
    headers: dict[str, str] = {}
    for line in re.sub(r"\n[ \t]+", " ", top).split("\n"):
        key, colon, value = line.partition(":")
        if not colon:
            raise InputError(f"{name}: {line[:60]!r} is not a mail header")
        headers[key.lower()] = _decoded(value.strip())
    missing = [key for key in ("from", "date", "subject") if not headers.get(key)]
    if missing:
        raise InputError(f"{name}: has no {missing[0].title()}: header")
    body = re.sub(r"(?:^|\n)---\n(?:.*\n)*?\Z", "\n", body)
    return headers, body.strip("\n")


def _decoded(value: str) -> str:
    """RFC 2047 words as text; what does not decode stays as it is."""
    if "=?" not in value:
        return value
    from email.header import decode_header, make_header

    try:
        return str(make_header(decode_header(value)))
    except (LookupError, UnicodeError, ValueError):
        return value


def split_fields(body: str) -> tuple[str, dict[str, list[str]], tuple[str, ...]]:
    """A message body as prose, fields, and lines among the fields that are none.

    The fields are the last paragraph, when its first line is one.
    """
    prose, _, last = body.rpartition("\n\n")
    lines = last.split("\n")
    if not _FIELD.fullmatch(lines[0]):
        return body, {}, ()
    fields: dict[str, list[str]] = {}
    problems: list[str] = []
    for line in lines:
        match = _FIELD.fullmatch(line)
        if match is None:
            problems.append(line)
        else:
            fields.setdefault(match[1], []).append((match[2] or "").strip())
    return prose.strip("\n"), fields, tuple(problems)


class _Reader:
    """Reads the diffs of one patch, line by line; every error names the file and what is wrong."""

    def __init__(self, raw: bytes, name: str) -> None:
        self._lines = _split_newlines(raw)
        self._at = 0
        self._name = name

    def diffs(self) -> tuple[FileDiff, ...]:
        found: list[FileDiff] = []
        while (line := self._peek()) is not None:
            if _is_signature(self._lines[self._at : self._at + 4]):
                break
            found.append(self._diff(line))
            if len(found) > _MOST_FILES:
                raise self._fail(f"touches more than {_MOST_FILES} files, which is no small patch")
        touched: set[str] = set()
        for diff in found:
            if diff.path in touched:
                raise self._fail(f"touches {diff.path} twice")
            touched.add(diff.path)
        return tuple(found)

    def _peek(self) -> bytes | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _fail(self, what: str) -> InputError:
        return InputError(f"{self._name}: {what}")

    def _diff(self, line: bytes) -> FileDiff:
        match = _DIFF.fullmatch(line)
        if match is None:
            raise self._fail(f"expected `diff --git`, found {line[:60]!r}; the patch is damaged")
        path = self._path(match[1])
        if match[1] != match[2]:
            raise self._fail(f"renames {path}; a patch here changes files in place")
        self._at += 1
        kind, mode, old_id, new_id = self._extended(path)
        if kind != "modify" or (self._peek() or b"").startswith(b"--- "):
            self._file_names(path, kind)
        hunks = self._hunks(path)
        if not hunks:
            raise self._fail(f"has no hunk for {path}; it is cut short or changes nothing")
        return FileDiff(path, kind, mode, old_id, new_id, hunks)

    def _path(self, raw: bytes) -> str:
        try:
            path = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._fail(f"names a path that is not UTF-8: {raw!r}") from error
        if '"' in path or any(ord(char) < 32 for char in path):
            raise self._fail(f"names an unusual path: {path!r}")
        try:
            return check_relative(path)
        except InputError as error:
            raise self._fail(error.message) from error

    def _extended(self, path: str) -> tuple[DiffKind, str | None, str | None, str | None]:
        kind: DiffKind = "modify"
        mode: bytes | None = None
        old_id = new_id = None
        while (line := self._peek()) is not None and not line.startswith((b"--- ", b"@@ ", b"diff --git ")):
            for start, what in _REFUSED:
                if line.startswith(start):
                    raise self._fail(f"{what} ({path}); only text changes to plain files are taken")
            if created := _MODE.fullmatch(line):
                kind, mode = ("add" if created[1] == b"new" else "delete"), created[2]
            elif index := _INDEX.fullmatch(line):
                old_id, new_id, mode = index[1].decode(), index[2].decode(), index[3] or mode
            else:
                raise self._fail(f"{path}: cannot read {line[:60]!r}")
            self._at += 1
        if mode is not None and mode not in _PLAIN_MODES:
            raise self._fail(f"{path} has mode {mode.decode()}: a link or a submodule, not a plain file")
        return kind, mode.decode() if mode else None, old_id, new_id

    def _file_names(self, path: str, kind: DiffKind) -> None:
        old = b"/dev/null" if kind == "add" else b"a/" + path.encode()
        new = b"/dev/null" if kind == "delete" else b"b/" + path.encode()
        for sign, expected in ((b"--- ", old), (b"+++ ", new)):
            line = self._peek()
            # git ends the name with a tab when it holds a space
            if line is None or line.rstrip(b"\n").removesuffix(b"\t") != sign + expected:
                found = "nothing" if line is None else repr(line[:80])
                raise self._fail(f"expected {(sign + expected).decode()!r}, found {found}")
            self._at += 1

    def _hunks(self, path: str) -> tuple[Hunk, ...]:
        hunks: list[Hunk] = []
        while (line := self._peek()) is not None and line.startswith(b"@@ "):
            match = _HUNK.fullmatch(line)
            if match is None:
                raise self._fail(f"{path}: malformed hunk header {line[:60]!r}")
            self._at += 1
            old_start, old_count, new_start, new_count = (
                int(match[1]), int(match[2] or b"1"), int(match[3]), int(match[4] or b"1")
            )  # fmt: skip
            lines = self._hunk_lines(path, old_count, new_count)
            hunks.append(Hunk(old_start, old_count, new_start, new_count, match[5], lines))
        return tuple(hunks)

    def _hunk_lines(self, path: str, old: int, new: int) -> tuple[bytes, ...]:
        lines: list[bytes] = []
        while old > 0 or new > 0:
            line = self._peek()
            if line is None or line[:1] not in (b" ", b"-", b"+") or not line.endswith(b"\n"):
                raise self._fail(f"{path}: hunk {len(lines)} lines in is cut short or miscounted")
            old -= line[:1] in (b" ", b"-")
            new -= line[:1] in (b" ", b"+")
            lines.append(line)
            self._at += 1
            if self._peek() == NO_NEWLINE:
                lines[-1] = line[:-1]
                self._at += 1
        if old < 0 or new < 0 or all(line[:1] == b" " for line in lines):
            raise self._fail(f"{path}: a hunk's counts do not match its lines")
        return tuple(lines)


def _split_newlines(raw: bytes) -> list[bytes]:
    """Lines at \\n only: a \\r inside a line belongs to the file that is patched."""
    lines = raw.split(b"\n")
    tail = [lines[-1]] if lines[-1] else []
    return [line + b"\n" for line in lines[:-1]] + tail


def _is_signature(lines: list[bytes]) -> bool:
    """Whether only a mail signature (`-- `, git's version) is left: read past it, lint objects."""
    return lines[0] == b"-- \n" and len(lines) <= 3
