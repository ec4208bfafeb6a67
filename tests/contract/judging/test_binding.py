"""Binding says what Python says: compared with real calls of real functions, generated.

(Not with inspect.Signature.bind: until Python 3.13 it refuses `f(a=1)` for `def f(a=0, /, **k)`, which runs.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pinproof.contract.evaluation.values import When
from pinproof.contract.judging.binding import Arguments, bind
from pinproof.contract.model import Parameter, Place, Signature
from pinproof.contract.output.findings import spelled

NAMES = ["a", "b", "c", "d", "e", "f"]


def signature(*parameters: Parameter) -> Signature:
    return Signature(name="lib.f", parameters=parameters, place=Place(source="lib 1", file="lib.py", line=1))


@st.composite
def signatures(draw: st.DrawFn) -> Signature:
    """Any signature that Python accepts, over a few names."""
    names = iter(draw(st.permutations(NAMES)))
    plain = draw(st.lists(st.sampled_from(["positional-only", "positional-or-keyword"]), max_size=3))
    plain.sort()  # positional-only sorts first
    plain.sort(key=lambda kind: kind != "positional-only")
    first_default = draw(st.integers(0, len(plain)))
    found = [Parameter(next(names), kind, i >= first_default) for i, kind in enumerate(plain)]  # type: ignore[arg-type]
    if draw(st.booleans()):
        found.append(Parameter("args", "var-positional"))
    for _ in range(draw(st.integers(0, 2))):
        found.append(Parameter(next(names), "keyword-only", draw(st.booleans())))
    if draw(st.booleans()):
        found.append(Parameter("kwargs", "var-keyword"))
    return signature(*found)


def real(found: Signature) -> Callable[..., None]:
    """A function that Python itself made of the signature."""
    space: dict[str, Any] = {}
    exec(f"def {spelled(found).removeprefix('lib.')}: pass", space)
    made: Callable[..., None] = space["f"]
    return made


@settings(max_examples=600, deadline=None)
@given(signatures(), st.integers(0, 5), st.lists(st.sampled_from([*NAMES, "z"]), unique=True, max_size=4))
def test_a_call_drifts_exactly_when_python_refuses_it(
    found: Signature, positional: int, keywords: list[str]
) -> None:
    try:
        real(found)(*range(positional), **dict.fromkeys(keywords, 0))
        accepted = True
    except TypeError:
        accepted = False
    assert (not bind(found, Arguments(positional, False, tuple(keywords)))) == accepted


@settings(max_examples=300, deadline=None)
@given(signatures(), st.integers(0, 3), st.lists(st.sampled_from([*NAMES, "z"]), unique=True, max_size=3),
       st.integers(0, 3), st.lists(st.sampled_from([*NAMES, "z"]), unique=True, max_size=3))  # fmt: skip
def test_what_may_be_spread_is_never_held_against_a_call_that_python_could_accept(
    found: Signature, positional: int, keywords: list[str], more: int, extra: list[str]
) -> None:
    names = dict.fromkeys([*keywords, *extra], 0)
    try:
        real(found)(*range(positional + more), **names)
    except TypeError:
        return
    assert bind(found, Arguments(positional, True, tuple(keywords), (), True)) == ()


def test_an_unexpected_keyword_names_the_nearest_declared_one() -> None:
    (drift,) = bind(
        signature(Parameter("situ_beta", "keyword-only", True)), Arguments(0, False, ("activation_beta",))
    )
    assert (drift.kind, drift.names, drift.nearest) == (
        "unexpected-keyword",
        ("activation_beta",),
        ("situ_beta",),
    )


def test_a_keyword_passed_under_a_condition_carries_the_condition() -> None:
    (drift,) = bind(signature(), Arguments(0, False, (), (("beta", When("self.beta != 0")),)))
    assert (drift.names, drift.when) == (("beta",), "self.beta != 0")


@pytest.mark.parametrize("more", [Arguments(0, True), Arguments(0, False, (), (), True)])
def test_an_unknown_spread_may_fill_what_is_missing(more: Arguments) -> None:
    assert bind(signature(Parameter("x", "positional-or-keyword")), more) == ()


def test_positional_arguments_beyond_the_room_are_counted() -> None:
    (drift,) = bind(signature(Parameter("x", "positional-or-keyword")), Arguments(3))
    assert (drift.kind, drift.names) == ("too-many-positional", ("3 given, 1 taken",))
