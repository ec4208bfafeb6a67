"""What an installer keeps about a package, kept right when a patch changes the package's files.

pip and uv know each installed file by its line in `*.dist-info/RECORD` (path, sha256, size: PEP 376 and
https://packaging.python.org/en/latest/specifications/recording-installed-packages/). A note beside the
packages, which no installer touches, lets a later run see that an upgrade took a patch away.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from pinproof.tree import Tree, metadata_path

NOTE = "pinproof-applied.json"
# PEP 552: bit 0 says that the source's hash counts, not its time; bit 1 that it is looked at.
_UNCHECKED_HASH = b"\x01\x00\x00\x00"


class Applied(msgspec.Struct, frozen=True):
    """What was applied: the engine's version, and the sha256 of each file as the patches left it."""

    version: str
    patches: tuple[str, ...]
    files: dict[str, str]
    schema: str = "pinproof.applied/1"


def bookkeeping(
    tree: Tree,
    contents: Mapping[str, bytes | None],
    *,
    added: Iterable[str] = (),
    removed: Iterable[str] = (),
) -> dict[str, bytes | None]:
    """The RECORD and the note as they must be once `contents` are written; empty where there is no RECORD.

    Args:
        tree: an installed package, as it is now.
        contents: the files that change, by path; None removes one.
        added: names of the patches that go in.
        removed: names of the patches that come out.
    """
    changed: dict[str, bytes | None] = {}
    metadata = metadata_path(tree)
    path = metadata and metadata.replace("METADATA", "RECORD")
    record = tree.read(path) if path else None
    if path and record is not None:
        changed[path] = updated_record(record, contents)
    before = read_note(tree)
    patches = [name for name in (before.patches if before else ()) if name not in set(removed)]
    patches += [name for name in added if name not in patches]
    if not patches:
        return {**changed, NOTE: None} if before else changed
    files = {**(before.files if before else {}), **{p: _hex(data) for p, data in contents.items() if data}}
    note = Applied(tree.version or "", tuple(patches), files)
    return {**changed, NOTE: msgspec.json.format(msgspec.json.encode(note), indent=1) + b"\n"}


def updated_record(record: bytes, contents: Mapping[str, bytes | None]) -> bytes:
    """RECORD with the lines of these files made true; every other line stays as it is, byte for byte."""
    end = b"\r\n" if b"\r\n" in record else b"\n"
    lines: list[bytes] = []
    todo = dict(contents)
    for line in record.splitlines():
        path = _path(line)
        if path not in contents:
            lines.append(line)
        elif (data := todo.pop(path, None)) is not None:
            lines.append(_line(path, data))
    lines += [_line(path, data) for path, data in todo.items() if data is not None]
    return end.join(lines) + end


def _path(line: bytes) -> str:
    row = next(csv.reader([line.decode(errors="surrogateescape")]), [])
    return row[0] if row else ""


def _line(path: str, data: bytes) -> bytes:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([path, f"sha256={digest}", len(data)])
    return out.getvalue().encode()


def read_note(tree: Tree) -> Applied | None:
    """What was applied to this installation before; None where nothing was, or the note is not readable."""
    raw = tree.read(NOTE) if tree.kind == "installed" else None
    try:
        return None if raw is None else msgspec.json.decode(raw, type=Applied)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def since_then(tree: Tree) -> str | None:
    """What happened to the patches that were applied here, where it is not simply "they are still in"."""
    note = read_note(tree)
    if note is None:
        return None
    lost = sorted(path for path, digest in note.files.items() if _hex(tree.read(path) or b"") != digest)
    names = ", ".join(note.patches)
    if note.version != (tree.version or ""):
        how = "came without them" if lost else "left them in"
        now = f"since then {tree.package} was changed to {tree.version}, which {how}"
        return f"{names}: applied here to {tree.package} {note.version}; {now}"
    if lost:
        return f"{names}: applied here; since then {', '.join(lost)} was changed or reinstalled"
    return None


def _hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def drop_unchecked_bytecode(root: Path, paths: Iterable[str]) -> list[str]:
    """Delete compiled files that Python would go on using without a look at the changed source.

    Images are at times compiled with `--invalidation-mode unchecked-hash`; any other kind Python renews.

    Returns:
        The paths that were deleted, relative to `root`.
    """
    dropped: list[str] = []
    for path in paths:
        source = root / path
        for compiled in sorted((source.parent / "__pycache__").glob(f"{source.stem}.*.pyc")):
            with contextlib.suppress(FileNotFoundError), compiled.open("rb") as stream:
                if stream.read(8)[4:8] == _UNCHECKED_HASH:
                    compiled.unlink()
                    dropped.append(compiled.relative_to(root).as_posix())
    return dropped
