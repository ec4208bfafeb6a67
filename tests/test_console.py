"""Nothing that does not show as itself reaches the terminal, and JSON stays JSON."""

from __future__ import annotations

import json
import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.console import clean, json_text, one_line, table

HIDDEN: tuple[Literal["Cc", "Cf", "Cs", "Zl", "Zp"], ...] = ("Cc", "Cf", "Cs", "Zl", "Zp")


@given(st.text(alphabet=st.characters(categories=HIDDEN)))
def test_no_character_that_does_not_show_is_left(text: str) -> None:
    shown = [char for char in clean(text) if char not in "\t\n"]
    assert all(unicodedata.category(char) not in HIDDEN for char in shown)


@given(st.text())
def test_one_line_is_one_line_to_everyone(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.dictionaries(st.text(), st.text()))
def test_json_holds_the_same_after_cleaning(value: dict[str, str]) -> None:
    assert json.loads(json_text(value)) == value


@pytest.mark.parametrize("char", "\u2028\u2029\x85\u202e\x9b\u061c\u00ad\u3164\U000e0041\udc80")
def test_a_known_bad_character_is_shown_as_json_escapes_it(char: str) -> None:
    assert clean(f"a{char}b") == f"a{json.dumps(char)[1:-1]}b"


@pytest.mark.parametrize("text", ["plain", "Größe", "日本語", "👍️", "a\tb\nc", "e\u0301"])
def test_text_that_shows_stays(text: str) -> None:
    assert clean(text) == text


def test_a_cell_stays_in_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    table(("a", "b"), [("one\n::error::x", "two\u2028three"), ("p", "q")])
    assert len(capsys.readouterr().out.splitlines()) == 4
