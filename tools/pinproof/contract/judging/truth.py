"""Yes, no, or may: what a test answers on the pinned versions, and what it asks for."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

from pinproof.contract.model import DriftKind

ANY = "*"


class Answer(enum.Enum):
    """Whether a test holds in the environment that the tree pins."""

    YES = "yes"
    NO = "no"
    MAY = "may"


class About(NamedTuple):
    """What a test asks for: the version of `library` (no name), or `name`, a callee, attribute or parameter.

    The library is ANY where the test does not say of which it asks.
    """

    library: str
    name: str = ""


class Truth(NamedTuple):
    """An answer; `about` is what was asked on the way to it."""

    answer: Answer
    about: frozenset[About] = frozenset()


YES, NO, MAY = (Truth(answer) for answer in Answer)


class Question(NamedTuple):
    """The failure that a test may keep from happening: what fails, and the names it is about."""

    kind: DriftKind
    names: tuple[str, ...]
    library: str
    callee: str

    def is_asked(self, about: Iterable[About]) -> bool:
        """Whether one of the things asked for is this very callee, or the version of its library."""
        return any(self._is(each) for each in about)

    def _is(self, about: About) -> bool:
        if about.library not in (self.library, ANY):
            return False
        if not about.name:
            return about.library != ANY
        wanted = {*self.names, self.callee}
        if about.library == ANY:
            wanted |= {name.rpartition(".")[2] for name in self.names}
        return about.name in wanted


def negated(truth: Truth) -> Truth:
    """The answer of `not test`."""
    other = {Answer.YES: Answer.NO, Answer.NO: Answer.YES, Answer.MAY: Answer.MAY}
    return Truth(other[truth.answer], truth.about)


def every(truths: Iterable[Truth]) -> Truth:
    """The answer of tests joined by `and`."""
    found = list(truths)
    for truth in found:
        if truth.answer is Answer.NO:
            return truth
    may = [t.about for t in found if t.answer is Answer.MAY]
    return Truth(Answer.MAY, frozenset().union(*may)) if may else YES


def some(truths: Iterable[Truth]) -> Truth:
    """The answer of tests joined by `or`."""
    return negated(every(negated(t) for t in truths))
