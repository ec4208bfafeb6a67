"""What is known of an expression's value on the pinned versions, and what it asks for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pinproof.contract.judging.truth import About, Answer, Truth

_MOST = 8


class Known(NamedTuple):
    """Everything that an expression can be, None when that is not known; `about` is what it asks for."""

    values: tuple[object, ...] | None
    about: frozenset[About] = frozenset()


class Names(NamedTuple):
    """The parameters of a signature, or the names of a module."""

    names: frozenset[str]


class There:
    """An object of which no more is known than that it is one: true in a test, and not None."""


THERE = There()
UNKNOWN = Known(None)
PRESENT = Known((THERE,))


def truth_of(known: Known) -> Truth:
    """What a value answers as a test."""
    answers = {bool(v.names) if isinstance(v, Names) else bool(v) for v in known.values or ()}
    if len(answers) != 1:
        return Truth(Answer.MAY, known.about)
    return Truth(Answer.YES if answers.pop() else Answer.NO, known.about)


def of_truth(truth: Truth) -> Known:
    """The value of a test."""
    values = None if truth.answer is Answer.MAY else (truth.answer is Answer.YES,)
    return Known(values, truth.about)


def asked(found: Iterable[Known]) -> frozenset[About]:
    """Everything that several values ask for."""
    return frozenset(about for known in found for about in known.about)


def any_of(found: Iterable[Known]) -> Known:
    """What one of several can be; unknown when there are none."""
    each = list(found)
    about = asked(each)
    if not each or any(k.values is None for k in each):
        return Known(None, about)
    values = tuple(dict.fromkeys(v for k in each for v in k.values or ()))
    return Known(values if len(values) <= _MOST else None, about)


def apply(step: Callable[..., Any], given: list[Known]) -> Known:
    """What a function of known values gives, for each way of choosing them; unknown when it fails."""
    about = asked(given)
    if any(k.values is None for k in given):
        return Known(None, about)
    rows = itertools.islice(itertools.product(*(k.values or () for k in given)), _MOST * _MOST)
    try:
        made = tuple(dict.fromkeys(step(*row) for row in rows))
    except Exception:
        return Known(None, about)
    return Known(made if len(made) <= _MOST else None, about)
