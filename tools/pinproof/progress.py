"""Progress on standard error: a bar on a terminal, elsewhere a line every few seconds."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

from pinproof.console import clean, stderr

# In a log the first sign of life, then the next ones.
_FIRST_S = 5.0
_NEXT_S = 10.0
_doing: list[_Quiet] = []


class Bar(Protocol):
    """What runs: how far it is, and what it does now."""

    def advance(self, amount: float = 1) -> None:
        """Move on by `amount`."""

    def describe(self, text: str) -> None:
        """Change the words."""


@contextlib.contextmanager
def progress(description: str, total: float | None = None, *, unit: str = "items") -> Iterator[Bar]:
    """Show how far a piece of work is.

    Args:
        description: what is going on, in a few words.
        total: how much there is to do, None when unknown.
        unit: "bytes" shows sizes and speed; anything else shows counts.
    """
    if sys.stderr.isatty():
        with _on_terminal(description, total, unit) as bar:
            yield bar
        return
    quiet = _Quiet(description, total, unit)
    _doing.append(quiet)
    try:
        yield quiet
    finally:
        _doing.remove(quiet)


@contextlib.contextmanager
def _on_terminal(description: str, total: float | None, unit: str) -> Iterator[Bar]:
    from rich import progress as rp

    columns: list[rp.ProgressColumn] = [rp.TextColumn("{task.description}"), rp.BarColumn()]
    if unit == "bytes":
        columns += [rp.DownloadColumn(), rp.TransferSpeedColumn()]
    else:
        columns += [rp.MofNCompleteColumn()]
    columns.append(rp.TimeElapsedColumn())
    with rp.Progress(*columns, console=stderr(), transient=True) as view:
        task = view.add_task(clean(description), total=total)

        class Shown:
            def advance(self, amount: float = 1) -> None:
                view.advance(task, amount)

            def describe(self, text: str) -> None:
                view.update(task, description=clean(text))

        yield Shown()


class _Quiet:
    """Progress that is only counted, for the line that heartbeat() writes."""

    def __init__(self, description: str, total: float | None, unit: str) -> None:
        self._description, self._total, self._unit = description, total, unit
        self._done = 0.0

    def advance(self, amount: float = 1) -> None:
        self._done += amount

    def describe(self, text: str) -> None:
        self._description = text

    def text(self) -> str:
        """`reading x.whl, 12.3 of 40.1 MB`"""
        scale, unit = (1e6, " MB") if self._unit == "bytes" else (1.0, "")
        digits = 1 if unit else 0
        done = f"{self._done / scale:.{digits}f}"
        whole = f" of {self._total / scale:.{digits}f}" if self._total else ""
        return clean(f"{self._description}, {done}{whole}{unit}")


@contextlib.contextmanager
def heartbeat(name: str) -> Iterator[None]:
    """Write a line every few seconds while the block runs, where standard error is not a terminal.

    A timer signal, not a thread: the contract gate forks, and a fork beside threads may hang.
    """
    if sys.stderr.isatty() or not hasattr(signal, "setitimer"):
        yield
        return
    started = time.monotonic()

    def beat(_number: int, _frame: FrameType | None) -> None:
        doing = f": {_doing[-1].text()}" if _doing else ""
        # Not through sys.stderr: the signal may come in the middle of another write to it.
        line = f"pinproof {name}: working, {time.monotonic() - started:.0f} s{doing}\n"
        with contextlib.suppress(OSError):
            os.write(2, line.encode(errors="replace"))

    with _alarm(beat):
        yield


@contextlib.contextmanager
def _alarm(beat: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    try:
        before = signal.signal(signal.SIGALRM, beat)
    except ValueError:  # not the main thread
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, _FIRST_S, _NEXT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
