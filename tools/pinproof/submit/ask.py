"""Questions that a person must answer at a terminal: nothing here can be answered by a pipe or a flag."""

from __future__ import annotations

import sys

from pinproof.console import clean
from pinproof.errors import Refused


def require_terminal(what: str) -> None:
    """Make sure that a person can be asked.

    Raises:
        Refused: standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise Refused(
            f"{what} needs a person at a terminal; there is no flag for it", hint="run it in a terminal"
        )


def ask(question: str) -> str:
    """The person's answer, stripped.

    Raises:
        Refused: the input ended.
    """
    sys.stderr.write(clean(question) + " ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise Refused("the input ended before the answer; nothing was recorded")
    return line.strip()


def ask_yes_or_no(question: str) -> bool:
    """Whether the person typed yes in full; `no` is no, and anything else is asked again."""
    while True:
        answer = ask(f"{question} [yes/no]").lower()
        if answer in ("yes", "no"):
            return answer == "yes"


def typed(expected: str, question: str) -> bool:
    """Whether the person typed exactly what was asked for."""
    return ask(question) == expected
