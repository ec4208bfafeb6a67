"""The patch folder: which patches there are, and in which order."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pinproof.errors import InputError
from pinproof.patchset.patchfile import LARGEST, Patch, parse_patch
from pinproof.paths import read_regular

_LARGEST_SERIES = 1 << 20
_NAME = re.compile(r"[0-9]{4}-[a-z0-9]+(?:-[a-z0-9]+)*\.patch")


def patch_dir(given: Path | None = None) -> Path:
    """The folder with `series`: the one given, $PINPROOF_PATCHES, the checkout's, or the packaged copy.

    Raises:
        InputError: it holds no `series` file.
    """
    named = given or (Path(env) if (env := os.environ.get("PINPROOF_PATCHES")) else None)
    package = Path(__file__).resolve().parent.parent
    # <checkout>/tools/pinproof when run from a checkout, else the copy that the wheel carries
    candidates = [named] if named else [package.parent.parent / "patches/vllm", package / "_patches/vllm"]
    for folder in candidates:
        if (folder / "series").is_file():
            return folder
    raise InputError(f"no `series` file in {candidates[0]}", hint="give --patches DIR, e.g. patches/vllm")


def read_series(folder: Path) -> list[str]:
    """The names in `series`, in order; `#` comments and blank lines left out.

    Raises:
        InputError: a name is listed twice, or is not a patch file name.
    """
    try:
        text = read_regular(folder / "series", _LARGEST_SERIES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{folder / 'series'} is not UTF-8 text ({error.reason})") from error
    names: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        name = line.split("#", 1)[0].strip()
        if not name:
            continue
        if not _NAME.fullmatch(name):
            raise InputError(f"series:{number}: {name!r} is not a patch name such as 0001-short-title.patch")
        if name in names:
            raise InputError(f"series:{number}: {name} is listed twice")
        names.append(name)
    return names


def load_series(folder: Path | None = None) -> list[Patch]:
    """Every patch of the series, parsed, in order.

    Raises:
        InputError: the series lists none, or it or a patch cannot be read.
    """
    folder = patch_dir(folder)
    names = read_series(folder)
    if not names:
        raise InputError(f"{folder / 'series'} lists no patch", hint="add one, or give --patches DIR")
    return [load_patch(folder / name) for name in names]


def load_patch(path: Path) -> Patch:
    """One patch file, parsed.

    Raises:
        InputError: it does not exist, is not a plain file, or is malformed.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist", hint=f"see the names in {path.parent / 'series'}")
    if not path.is_file():
        raise InputError(f"{path} is not a patch file: it is a folder or a device")
    return parse_patch(read_regular(path, LARGEST), path.name)


def find_patch(spec: str, folder: Path | None = None) -> Patch:
    """The patch that `spec` names: a number (0001 or 1), a file name, the start of one, or a path.

    Raises:
        InputError: it names none, or several.
    """
    if "/" in spec or (spec.endswith(".patch") and Path(spec).is_file()):
        return load_patch(Path(spec))
    folder = patch_dir(folder)
    names = read_series(folder)
    number = f"{int(spec):04d}-" if spec.isdecimal() and len(spec) <= 4 else spec
    found = [name for name in names if name == spec] or [name for name in names if name.startswith(number)]
    if len(found) != 1:
        what = "names no patch" if not found else "names several patches"
        raise InputError(f"{spec!r} {what} of the series", hint=f"the series has: {', '.join(names)}")
    return load_patch(folder / found[0])
