"""Text is taken apart the same way on both sides, whatever it holds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.duplicates import tokens

REPO = "vllm-project/vllm"


@pytest.mark.parametrize(
    ("title", "left"),
    [
        ("[Bugfix][Kernel] Fix the crash", "Fix the crash"),
        ("[Bug]: Kimi K3 fails", "Kimi K3 fails"),
        ("fix(sample): keep it", "fix(sample): keep it"),
        ("Use [brackets] inside", "Use [brackets] inside"),
    ],
)
def test_leading_tags_are_no_part_of_a_title(title: str, left: str) -> None:
    assert tokens.strip_tags(title) == left


def test_code_in_prose_is_told_from_words() -> None:
    found = tokens.names_in_prose(
        "The `dispatch` of fp8_fp4_mega_moe on SM120 in KimiK3 with flashinfer-python 1"
    )
    assert {"dispatch", "fp8_fp4_mega_moe", "sm120", "kimik3"} <= found
    assert not found & {"the", "with", "on"}


def test_a_commit_is_no_name_and_its_tail_is_none_either() -> None:
    assert tokens.names_in_prose("pin 2fd67329 here") == set()


@pytest.mark.parametrize(
    ("text", "pins"),
    [
        ("flashinfer-python==0.6.11.post2", {"v0_6_11_post2"}),
        ("bump to v3.7.0", {"v3_7_0"}),
        ("GIT_TAG 8b1392b978f5a03c828dd1711090d7fb50958b8a", {"c8b1392b"}),
        ("at 8b1392b9", {"c8b1392b"}),
        ("added defaced 1234567", set()),
    ],
)
def test_versions_and_commits_are_found(text: str, pins: set[str]) -> None:
    assert tokens.pinned_values(text) == pins


@pytest.mark.parametrize(
    ("text", "closes", "mentions"),
    [
        ("Fixes #12 and see #13", {12}, {12, 13}),
        ("closes: https://github.com/vllm-project/vllm/issues/7", {7}, {7}),
        ("Resolves vllm-project/vllm#9", {9}, {9}),
        ("moved in vllm#52035.", set(), {52035}),
        ("fixes sgl-project/sglang#5", set(), set()),
        ("https://github.com/sgl-project/sglang/pull/6", set(), set()),
        ("(#47794)", set(), {47794}),
        ("color #000000 and a#b", set(), set()),
    ],
)
def test_issue_numbers_of_this_repository_only(text: str, closes: set[int], mentions: set[int]) -> None:
    found = tokens.references(text, REPO)
    assert (set(found.closes), set(found.mentions)) == (closes, mentions)


def test_an_error_folded_over_two_lines_is_one_message() -> None:
    prose = (
        "It died:\n\n  TypeError: f() got an unexpected keyword argument\n  'activation_beta'\n\nRename it."
    )
    assert tokens.errors(prose) == [("TypeError", "f() got an unexpected keyword argument 'activation_beta'")]


@given(st.text())
def test_every_token_is_safe_inside_a_full_text_query(text: str) -> None:
    found = [
        *tokens.words(text),
        *tokens.parts(text),
        *tokens.names_in_prose(text),
        *tokens.pinned_values(text),
    ]
    assert all(re.fullmatch(r"[a-z0-9_]+", token) for token in found)


@pytest.mark.parametrize("unit", ["a", "[", "#1 ", "`x", "0.", "a-", "fixes ", "E: ", "Error: x\n  "])
def test_a_mebibyte_of_anything_is_read_in_no_time(unit: str) -> None:
    text = unit * (1_048_576 // len(unit))
    tokens.references(text, REPO)
    tokens.errors(text)
    tokens.strip_tags(text)
    assert len(tokens.words(text)) <= tokens.LONGEST_TEXT
    assert len(tokens.names_in_prose(text)) <= tokens.LONGEST_TEXT


def test_words_of_plain_english_are_no_code_names() -> None:
    assert set(tokens.code_names("# Then it may be that the caller needs this here: situ_beta")) == {
        "caller", "situ_beta",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("title", "body", "undone"),
    [
        ('Revert "[Bugfix] Fix it (#41)" (#42)', "", {"#41"}),
        ("[Core] Revert it", "Reverts vllm-project/vllm#41", {"#41"}),
        ("Revert", "This reverts commit " + "a1" * 20 + ".", {"a1" * 20}),
        ("Revert", "This PR reverts #41 for now", {"#41"}),
        ("Fix", "Reverts sgl-project/sglang#41", set()),
        ("Fix", "partially reverts #41", set()),
        ('Revert "Revert "Fix it (#41)" (#42)" (#43)', "", {"#42"}),
    ],
)
def test_what_a_pull_request_takes_back(title: str, body: str, undone: set[str]) -> None:
    assert tokens.undone(title, body, "vllm-project/vllm") == undone
