"""Which names of files a patch or a tree may use: none that is git's, ours, or leads out of the tree."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

# The journal and the new files that apply writes beside their targets (patchset/journal.py).
_OURS = ".pinproof-"


def is_safe(path: str) -> bool:
    """Whether `path` is a plain relative POSIX path, spelled the one way there is, inside the tree.

    False when it is absolute, climbs out, holds a NUL or backslash, has an empty or `.` part, or a
    part that is git's folder on any file system or a name that pinproof keeps for itself.
    """
    parts = PurePosixPath(path).parts
    return not (
        not parts
        or path.startswith("/")
        or "\\" in path
        or "\0" in path
        or path != "/".join(parts)
        or any(part == ".." or is_reserved(part) for part in parts)
        or re.match(r"[A-Za-z]:", path) is not None
    )


def is_reserved(part: str) -> bool:
    """Whether some file system takes this name for `.git`, or pinproof takes it for its own.

    HFS+ leaves out format characters, NTFS cuts what follows a colon and blanks and dots at the end,
    and answers to short names such as GIT~1; both fold case. (git: path.c, utf8.c.)
    """
    shown = "".join(char for char in part if unicodedata.category(char) != "Cf")
    folded = unicodedata.normalize("NFKC", shown).casefold()
    name = folded.partition(":")[0].rstrip(". ")
    return name == ".git" or re.fullmatch(r"git~\d+", name) is not None or _OURS in folded
