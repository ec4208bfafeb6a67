"""Outside text stays text, as a CommonMark parser with GFM's tables and links reads it."""

from __future__ import annotations

import html
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pinproof.console import clean
from pinproof.markdown import code, codes, fence, folded, table, text

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
SIGNS = list("`*_[]()<>#!|\\~&@:/-+=$1. \n\t\"'")
PIECES = ["ab", "[a](x)", "![a](x)", "<b>", "<!-- a -->", "```", "*a*", "_a_", "~~a~~", "[a]: x", "www.",
          "&lt;", "<x@y.z>", "a\\", "- a", "1. a", "+ a", "# a", "|a|", "**a**"]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(SIGNS + PIECES), max_size=20).map("".join)


def tokens(markdown: str) -> Iterator[Token]:
    for token in PARSER.parse(markdown):
        yield token
        yield from token.children or []


def words(markdown: str) -> str:
    return "".join(token.content for token in tokens(markdown) if token.type in ("text", "code_inline"))


def flat(raw: str) -> str:
    return " ".join(clean(raw).split())


@given(HOSTILE | st.text(max_size=80))
@example("1. a")
@example("- a")
@example("# a")
@example("===")
@example("+ a")
@example("a | b")
@example("![x](https://x)")
@example("&lt;b&gt; &#64;")
@example("``x` `y``")
@example("\\*a\\*")
@example("\\<b>")
def test_text_is_one_paragraph_of_text_and_code(raw: str) -> None:
    kinds = {token.type for token in tokens("x " + text(raw))} | {token.type for token in tokens(text(raw))}
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "code_inline", "text_special"}


@given(HOSTILE)
@example("@```*``")
@example("@(`a`")
@example("`a`.@x")
def test_text_says_what_the_raw_text_says(raw: str) -> None:
    # Backticks around a span become the span; all other characters are kept.
    shown = html.unescape("".join(words(text(raw)).split()))
    assert shown.replace("`", "") == html.unescape("".join(flat(raw).split())).replace("`", "")


@given(HOSTILE)
def test_code_is_one_code_span_with_the_same_words(raw: str) -> None:
    inline = [token for token in tokens(code(raw)) if token.type not in ("inline",)]
    assert [token.type for token in inline] == [
        "paragraph_open",
        "code_inline",
        "paragraph_close",
    ] or not flat(raw)
    if flat(raw):
        assert inline[1].content == flat(raw)


@given(HOSTILE)
@example("a\n```\n# b")
def test_a_fence_holds_any_text(raw: str) -> None:
    found = list(tokens(fence(raw)))
    assert [token.type for token in found] == ["fence"]


@given(st.lists(HOSTILE, min_size=2, max_size=2))
@example(["a|b", "c|d"])
def test_a_table_keeps_its_columns_whatever_the_cells_hold(cells: list[str]) -> None:
    found = list(tokens(table(["a", "b"], [[text(cells[0]), code(cells[1])]])))
    assert sum(token.type == "td_open" for token in found) == 2
    assert not {token.type for token in found} & {"html_inline", "html_block", "link_open", "image"}


@pytest.mark.parametrize(
    "raw",
    ["@vllm-team look", "fixes #12", "see vllm-project/vllm#3", "GH-4", "https://evil.org/x", "www.x.org"],
)
def test_mentions_references_and_links_become_code(raw: str) -> None:
    word = next(part for part in raw.split() if any(sign in part for sign in ("@", "#", "GH", "//", "www")))
    assert f"`{word}`" in text(raw)


def test_identifiers_read_as_code_and_code_stays_code() -> None:
    assert (
        text("fp8_fp4_mega_moe() got `situ_beta` in a.b_c")
        == "`fp8_fp4_mega_moe()` got `situ_beta` in `a.b_c`"
    )


def test_controls_and_bidi_marks_are_shown_not_sent() -> None:
    assert "\x1b" not in text("a\x1b[31m") + code("\x1b") + fence("\x1b")
    assert "\u202e" not in text("a\u202eb") + code("\u202e") + fence("\u202e")


def test_no_names_are_a_dash() -> None:
    assert (codes([]), codes(["a", "b"])) == ("-", "`a`, `b`")


def test_a_folded_block_holds_markdown() -> None:
    found = [token.type for token in tokens(folded("Logs", fence("x")))]
    assert found == ["html_block", "fence", "html_block"]
