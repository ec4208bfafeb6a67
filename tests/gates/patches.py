"""Patches made on the spot by real git: a tree's files before, and what they become."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pinproof.patchset.patchfile import Patch, parse_patch

_FORMAT = ("format-patch", "--zero-commit", "--full-index", "--no-signature", "--no-stat", "-1", "--stdout")


def make_patch(
    before: Mapping[str, bytes | None], after: Mapping[str, bytes | None], message: str = "[Bugfix] Test"
) -> Patch:
    """The patch that turns the files `before` into `after`; None stands for no file."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _git(root, "init", "-q")
        for contents, text in ((before, "base"), (after, message)):
            for path, data in contents.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                if data is None:
                    (root / path).unlink(missing_ok=True)
                else:
                    (root / path).write_bytes(data)
            _git(root, "add", "-A", "-f")
            _git(root, "commit", "-q", "--allow-empty", "-m", text)
        return parse_patch(_git(root, *_FORMAT), "0009-test.patch")


def _git(root: Path, *args: str) -> bytes:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True).stdout
