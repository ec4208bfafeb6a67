"""Match the arguments of a call to a signature, as Python does when the call runs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pinproof.contract.evaluation.values import When
from pinproof.contract.model import Drift, Parameter, Signature


class Arguments(NamedTuple):
    """The arguments of a call, as far as they can be read from its text.

    Attributes:
        positional: how many are certainly passed by position.
        more_positional: whether a `*args` of unknown length may add to them.
        keywords: the names certainly passed by keyword.
        optional: names that a dict may hold, each with the condition.
        more_keywords: whether a `**kwargs` of unknown content may add to them.
    """

    positional: int = 0
    more_positional: bool = False
    keywords: tuple[str, ...] = ()
    optional: tuple[tuple[str, When], ...] = ()
    more_keywords: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every keyword that is or may be passed, in order."""
        return tuple(dict.fromkeys((*self.keywords, *(name for name, _ in self.optional))))


def bind(signature: Signature, arguments: Arguments) -> tuple[Drift, ...]:
    """Every way in which the call fails against the signature; empty when it can succeed.

    Unknown `*args` and `**kwargs` are given the benefit of the doubt: they may fill what is missing,
    but what is certainly passed must still fit. (Language reference, 6.3.4 "Calls".)
    """
    return (
        *_too_many(signature.parameters, arguments),
        *_unexpected(signature, arguments),
        *_missing(signature.parameters, arguments),
    )


def _too_many(parameters: Sequence[Parameter], arguments: Arguments) -> Iterable[Drift]:
    if any(p.kind == "var-positional" for p in parameters):
        return
    room = sum(p.kind in ("positional-only", "positional-or-keyword") for p in parameters)
    if arguments.positional > room:
        given = arguments.positional
        yield Drift(kind="too-many-positional", names=(f"{given} given, {room} taken",), given=given)


def _unexpected(signature: Signature, arguments: Arguments) -> Iterable[Drift]:
    twice = tuple(name for name in _filled_by_position(signature, arguments) if name in arguments.keywords)
    if twice:
        yield Drift(kind="unexpected-keyword", names=twice, twice=True)
    if any(p.kind == "var-keyword" for p in signature.parameters):
        return
    known = signature.names
    free = [name for name in known if name not in arguments.names]  # one that is passed is not what was meant
    always = tuple(name for name in arguments.keywords if name not in known)
    if always:
        yield Drift(kind="unexpected-keyword", names=always, nearest=nearest(always, free))
    for name, when in arguments.optional:
        if name not in known and name not in always:
            yield Drift(
                kind="unexpected-keyword", names=(name,), nearest=nearest((name,), free), when=str(when)
            )


def _filled_by_position(signature: Signature, arguments: Arguments) -> Iterable[str]:
    kinds = ("positional-only", "positional-or-keyword")
    filled = [p for p in signature.parameters if p.kind in kinds][: arguments.positional]
    return (p.name for p in filled if p.kind == "positional-or-keyword")


def _missing(parameters: Sequence[Parameter], arguments: Arguments) -> Iterable[Drift]:
    passed = arguments.names
    positional = [p for p in parameters if p.kind in ("positional-only", "positional-or-keyword")]
    left = [] if arguments.more_positional else positional[arguments.positional :]
    if not arguments.more_keywords:
        left += [p for p in parameters if p.kind == "keyword-only"]
    by_name = {p.name for p in parameters if p.kind != "positional-only"}
    missing = tuple(
        p.name
        for p in left
        if not p.default
        and not (p.name in passed and p.name in by_name)
        and not (arguments.more_keywords and p.kind != "positional-only")
    )
    if missing:
        yield Drift(kind="missing-required", names=missing, nearest=())


def nearest(names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """For each name the declared one that reads most like it, where one does."""
    found = (difflib.get_close_matches(name, known, 1, 0.5) for name in names)
    return tuple(dict.fromkeys(match for matches in found for match in matches))
