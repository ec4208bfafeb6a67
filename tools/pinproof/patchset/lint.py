"""Lint the patch folder: the series, every header, and bytes that a re-export would change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from pinproof.errors import InputError
from pinproof.patchset.export import canonical
from pinproof.patchset.fields import field_problems
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import load_patch, read_series


class Problem(msgspec.Struct, frozen=True):
    """Something to fix, and where."""

    file: str
    text: str


def lint_folder(folder: Path) -> list[Problem]:
    """Everything wrong with the patches in `folder`, in series order.

    Raises:
        InputError: there is no series file.
    """
    if not (folder / "series").is_file():
        raise InputError(f"no series file in {folder}")
    try:
        names = read_series(folder)
    except InputError as error:
        return [Problem("series", error.message)]
    problems = [
        Problem(path.name, "is not listed in series")
        for path in sorted(folder.glob("*.patch"))
        if path.name not in names
    ]
    problems += [Problem("series", text) for text in _numbering(names)]
    for name in names:
        problems += _lint_file(folder / name)
    return problems


def _numbering(names: list[str]) -> Iterator[str]:
    numbers = [int(name[:4]) for name in names]
    if numbers != sorted(set(numbers)):
        yield "numbers must rise, each used once"


def _lint_file(path: Path) -> list[Problem]:
    try:
        patch = load_patch(path)
    except InputError as error:
        return [Problem(path.name, error.message.removeprefix(f"{path.name}: "))]
    texts = [*field_problems(patch), *_byte_problems(patch)]
    return [Problem(patch.name, text) for text in texts]


def _byte_problems(patch: Patch) -> Iterator[str]:
    """The first line that `git format-patch` would write differently."""
    theirs = canonical(patch)
    if theirs == patch.raw:
        return
    ours_lines, their_lines = patch.raw.split(b"\n"), theirs.split(b"\n")
    for number, (ours, wanted) in enumerate(zip(ours_lines, their_lines, strict=False), 1):
        if ours != wanted:
            yield (
                f"line {number}: a re-export would write {wanted.decode(errors='replace')!r}, "
                f"found {ours.decode(errors='replace')!r} (pinproof export TREE)"
            )
            return
    yield f"a re-export has {len(their_lines)} lines, this file {len(ours_lines)} (pinproof export TREE)"
