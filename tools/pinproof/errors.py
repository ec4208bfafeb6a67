"""What can go wrong, and the exit code each kind of trouble ends with."""

from __future__ import annotations

import enum


class Exit(enum.IntEnum):
    """Exit codes shared by all commands (docs/workflow.md lists them for users)."""

    OK = 0
    FAILED = 1
    """A gate failed or drift was found."""
    USAGE = 2
    """Wrong usage, or input that cannot be read."""
    REFUSED = 3
    """The verdict or the state of the tree forbids it; nothing was written."""
    CONFLICT = 4
    """The patch does not apply."""
    SKIPPED = 5
    """Nothing failed, but a required proof could not be run here."""
    CRASHED = 70
    """A fault of pinproof's own (EX_SOFTWARE of sysexits.h)."""


class PinproofError(Exception):
    """A failure to show to the user as one line, with the next command where there is one.

    Args:
        message: what is wrong and where, without a trailing period.
        hint: what to do about it, ideally a command to run.
    """

    exit_code: Exit = Exit.USAGE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(PinproofError):
    """The input is missing, malformed or hostile (exit 2)."""


class GateFailed(PinproofError):
    """A proof was run and failed (exit 1)."""

    exit_code = Exit.FAILED


class Refused(PinproofError):
    """What was asked for must not be done in this state (exit 3)."""

    exit_code = Exit.REFUSED


class Conflict(PinproofError):
    """A patch does not apply (exit 4)."""

    exit_code = Exit.CONFLICT


class CannotCheck(PinproofError):
    """A proof could not be run here: no network, no tool, no hardware (exit 5)."""

    exit_code = Exit.SKIPPED
