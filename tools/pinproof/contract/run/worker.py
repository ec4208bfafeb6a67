"""Spread the work on files over processes: parsing and evaluating are all CPU."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.judging.siteloop import check_whole
from pinproof.contract.model import CallCheck, LibraryUsed, Unchecked
from pinproof.contract.run import spread

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Below this many files a second process costs more than it saves.
_WORTH = 60
_PATIENCE_S = 5.0


class Crew(Protocol):
    """Who does the work."""

    def carried(self, paths: Sequence[str]) -> spread.Carried:
        """What these files export."""

    def learn(self, carried: spread.Carried) -> None:
        """Tell what all files export."""

    def check(self, paths: Sequence[str]) -> list[CallCheck]:
        """The checks of these files."""


class Alone:
    """This process does everything."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def carried(self, paths: Sequence[str]) -> spread.Carried:
        return spread.carried(self.evaluator, paths)

    def learn(self, carried: spread.Carried) -> None:
        for module, names in carried.items():
            self.evaluator.codebase.carried.setdefault(module, set()).update(names)
        self.evaluator.renew()

    def check(self, paths: Sequence[str]) -> list[CallCheck]:
        return [check for path in paths for check in check_whole(self.evaluator, path)]


class Pair:
    """This process and a forked one, each with its half of the files, from first to last."""

    def __init__(self, evaluator: Evaluator) -> None:
        import multiprocessing

        self.here = Alone(evaluator)
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(evaluator, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._mine: dict[str, bool] = {}

    def _split(self, paths: Sequence[str]) -> tuple[list[str], list[str]]:
        halves: tuple[list[str], list[str]] = ([], [])
        for path in paths:
            if path not in self._mine:
                self._mine[path] = sum(self._mine.values()) * 2 <= len(self._mine)
            halves[0 if self._mine[path] else 1].append(path)
        return halves

    def carried(self, paths: Sequence[str]) -> spread.Carried:
        mine, theirs = self._split(paths)
        self._pipe.send(("carried", theirs))
        found = self.here.carried(mine)
        return {**found, **self._pipe.recv()}

    def learn(self, carried: spread.Carried) -> None:
        self.here.learn(carried)
        self._pipe.send(("learn", carried))

    def check(self, paths: Sequence[str]) -> list[CallCheck]:
        mine, theirs = self._split(paths)
        self._pipe.send(("check", theirs))
        found = self.here.check(mine)
        more, used, unchecked, unread, parsed = self._pipe.recv()
        codebase = self.here.evaluator.codebase
        codebase.libraries.adopt(used, unchecked)
        codebase.unread.update(unread)
        codebase.parsed += parsed
        return [*found, *more]

    def close(self) -> None:
        """End the other process."""
        with contextlib.suppress(OSError):  # it may have died
            self._pipe.send(("end", None))
        self._pipe.close()
        self._process.join(_PATIENCE_S)
        if self._process.is_alive():
            self._process.kill()


def _serve(evaluator: Evaluator, pipe: Connection) -> None:
    here = Alone(evaluator)
    codebase = evaluator.codebase
    parsed = codebase.parsed
    while True:
        try:
            what, argument = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            os._exit(0)  # the caller's exit handlers and buffers are not this process's to run
        if what == "end":
            os._exit(0)
        if what == "carried":
            pipe.send(here.carried(argument))
        elif what == "learn":
            here.learn(argument)
        else:
            checks = here.check(argument)
            answer: tuple[list[CallCheck], dict[str, LibraryUsed], dict[str, Unchecked], dict[str, str], int]
            answer = (
                checks,
                codebase.libraries.used,
                codebase.libraries.unchecked,
                codebase.unread,
                codebase.parsed - parsed,
            )
            pipe.send(answer)


def crew(evaluator: Evaluator, files: int) -> Any:
    """The crew for this many files: a second process where it pays and is available."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if files < _WORTH or cores < 2 or sys.platform != "linux":
        return Alone(evaluator)
    return Pair(evaluator)
