"""What a history says about each cell, and what it tells of the changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.contract.model import Parameter
from pinproof.history.model import Caller, Column, History
from pinproof.history.story import changes, outcome, rows, said, state


def column(release: str, *names: str, callers: tuple[Caller, ...] = (), required: str = "") -> Column:
    parameters = tuple(Parameter(n, "positional-or-keyword", n != required) for n in names)
    return Column(release=f"vllm=={release}", library="1", parameters=parameters, callers=callers)


def call(*keywords: str, **more: object) -> Caller:
    return Caller(file="vllm/m.py", line=3, keywords=keywords, **more)  # type: ignore[arg-type]


def history(*columns: Column) -> History:
    return History(callee="k.f", library="k", project="vllm", rows=rows(columns), columns=columns)


def test_a_new_parameter_takes_the_place_it_has_in_the_signature() -> None:
    assert rows([column("1", "a", "c"), column("2", "a", "b", "c")]) == ("a", "b", "c")


def test_a_name_that_is_only_passed_comes_last() -> None:
    assert rows([column("1", "a", callers=(call("z", "a"),))]) == ("a", "z")


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=6))
def test_every_declared_name_has_exactly_one_row(signatures: list[list[str]]) -> None:
    found = rows(column(str(i), *names) for i, names in enumerate(signatures))
    assert sorted(found) == sorted({name for names in signatures for name in names})


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (column("1", "b"), "none"),
        (column("1", "a"), "declared"),
        (column("1", "a", required="a"), "required"),
        (column("1", "a", callers=(call("a"),)), "passed"),
        (column("1", "b", callers=(call("a"),)), "conditional"),
        (column("1", "b", callers=(call("a", unexpected=("a",)),)), "breaks"),
        (column("1", "b", callers=(call("a", unexpected=("a",), guard="hasattr"),)), "guarded"),
        (column("1", "a", required="a", callers=(call(left_out=("a",)),)), "left-out"),
    ],
)
def test_the_state_of_a_cell(one: Column, expected: str) -> None:
    assert state(one, "a") == expected
    assert said(one, "a")


def test_a_call_that_breaks_outweighs_one_behind_a_guard() -> None:
    guarded, broken = call("a", unexpected=("a",), guard="hasattr"), call("a", unexpected=("a",))
    one = column("1", "b", callers=(guarded, broken))
    assert state(one, "a") == "breaks"
    assert outcome(one) == "1 of 2 break"


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (column("1", "a"), "no call"),
        (column("1", "a", callers=(call("a"),)), "1 call, holds"),
        (column("1", "a", callers=(call("a"), call("a"))), "2 calls, hold"),
        (column("1", "a", callers=(call("a", open="not known"),)), "1 call, 1 undecided"),
        (column("1", "b", callers=(call("a", unexpected=("a",)),)), "the call breaks"),
        (Column(release="vllm==1", library="1", missing="no such name"), "not declared"),
        (Column(release="vllm==1", missing="not pinned"), "not available"),
        (Column(release="vllm==1", missing="offline", read=False), "not read"),
    ],
)
def test_a_column_in_a_few_words(one: Column, expected: str) -> None:
    assert outcome(one) == expected


def test_nothing_undecided_is_said_to_hold() -> None:
    assert "hold" not in outcome(column("1", "a", callers=(call("a", open="not known"), call("a"))))


def test_changes_name_what_was_dropped_added_and_broken() -> None:
    broken = call("a", unexpected=("a",))
    told = list(changes(history(column("1", "a", "x"), column("2", "b", "x", callers=(broken,)))))
    assert told == ["1 → 2: drops a; adds b", "2: vllm/m.py:3 breaks: passes a, not declared by 1"]


def test_a_default_that_goes_away_is_a_change() -> None:
    assert list(changes(history(column("1", "a"), column("2", "a", required="a")))) == ["1 → 2: changes a"]


def test_a_changed_order_is_a_change() -> None:
    told = list(changes(history(column("1", "a", "b"), column("2", "b", "a"))))
    assert told == ["1 → 2: the order of the parameters changes"]


def test_a_function_that_goes_away_says_why() -> None:
    gone = Column(release="vllm==2", library="2", missing="k declares no f")
    assert list(changes(history(column("1", "a"), gone))) == ["1 → 2: gone (k declares no f)"]
