"""GitHub's runner reads commands in a job's output: none may come out of outside text.

A line that begins with `::`, blanks before it or not, and `##[` anywhere in a line are commands to it
(actions/runner, src/Runner.Common/ActionCommand.cs): they hide text, end groups, report errors.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

_COMMAND = re.compile(r"##\[|(?:\A|(?<=[\r\n]))[^\S\r\n]*::")
_LONGEST = 4096


@contextlib.contextmanager
def guarded_output() -> Iterator[None]:
    """On GitHub's runner, let nothing that is written meanwhile be a command; elsewhere do nothing.

    Commands that are meant go through write_command().
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, Guarded(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def write_command(line: str) -> None:
    """Write one command to the runner; its data must be escaped already."""
    getattr(sys.stdout, "write_command", sys.stdout.write)(line + "\n")


class Guarded:
    """A text stream in which every command of the runner is broken by an escape of its last character.

    The escape is JSON's too, so that JSON stays what it was.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._line = ""  # what stands on the last line already

    def write(self, text: str) -> int:
        """Write `text`; a command may have begun in what was written before."""
        before = self._line
        whole = before + text
        out, at = [], len(before)
        for command in _COMMAND.finditer(whole):
            last = command.end() - 1
            if last >= at:
                out += [whole[at:last], f"\\u{ord(whole[last]):04x}"]
                at = command.end()
        self._stream.write("".join([*out, whole[at:]]))
        self._line = _last_line(whole)
        return len(text)

    def write_command(self, text: str) -> None:
        """Write what is meant to be a command, on a line of its own."""
        self._stream.write(text)
        self._line = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _last_line(text: str) -> str:
    line = re.split(r"[\r\n]", text)[-1]
    return line if len(line) <= _LONGEST else f"x{line[-2:]}" if line.strip() else line[-_LONGEST:]
