"""Ctrl-C and the signals that end a process: held back while files change, and told apart afterwards."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

HELD = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} if hasattr(signal, "SIGHUP") else {signal.SIGINT}


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP came: everything is cleared away as for Ctrl-C, and the exit code tells which."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back SIGINT, SIGTERM and SIGHUP, for this process and the children it starts meanwhile.

    They arrive at the end. Nothing helps against SIGKILL but the journal.
    """
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_waiting() -> bool:
    """Whether a signal that is held back has come."""
    return hasattr(signal, "sigpending") and bool(signal.sigpending() & HELD)


def raise_on_termination() -> None:
    """Let SIGTERM and SIGHUP raise Terminated where nobody has decided otherwise (nohup has)."""
    for number in HELD - {signal.SIGINT}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise)


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)
