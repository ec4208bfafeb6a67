"""When pinproof itself fails: a report without secrets that can be sent, and an exit code of its own."""

from __future__ import annotations

import os
import platform
import shlex
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from pinproof import __version__
from pinproof.console import note
from pinproof.environment import without_secrets
from pinproof.errors import Exit
from pinproof.paths import cache_dir
from pinproof.submit.scrub import without_tokens

_SHORTEST_SECRET = 6
_DEEPEST = 40
_ISSUES = "https://github.com/pinproof/pinproof/issues/new"


def report_crash(command: str, arguments: Sequence[str], error: BaseException) -> int:
    """Write the report and say in a few lines what happened and how to send it.

    Args:
        command: the command that failed.
        arguments: what it was given.
        error: what was raised and nobody expected.

    Returns:
        The exit code for a fault of pinproof's own.
    """
    last = "".join(traceback.format_exception_only(type(error), error)).strip()
    note(f"pinproof {command}: a fault in pinproof itself: {_private(last)[:500]}")
    text = _report(command, arguments, error)
    try:
        note(f"  the report is in {_write(text)}")
        note(f"  -> read it, then send it: {_ISSUES}")
    except OSError as full:
        note(f"  its report could not be written ({full.strerror}):\n{text}")
    return Exit.CRASHED


def _report(command: str, arguments: Sequence[str], error: BaseException) -> str:
    lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-_DEEPEST)
    return _private(
        f"pinproof {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"pinproof {shlex.join([command, *arguments])}\n\n{''.join(lines)}"
    )


def _private(text: str) -> str:
    """`text` without tokens, passwords, and this person's home."""
    secrets = set(os.environ.items()) - set(without_secrets(os.environ).items())
    for _, value in secrets:
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "[removed]")
    home = str(Path.home())
    return without_tokens(text.replace(home, "~") if len(home) > 1 else text)


def _write(text: str) -> Path:
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    fd, name = tempfile.mkstemp(prefix=f"{moment}-", suffix=".txt", dir=cache_dir("crashes"))
    with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(text)
    return Path(name)
