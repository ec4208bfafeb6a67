"""Outside text stays text: on a terminal, in Markdown, in HTML."""

from __future__ import annotations

from typing import Any

import pytest
from pinproof.duplicates.report import markdown_paragraph, show
from pinproof.gate import GateResult

HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07", "\u202egnp.exe\u2066", "<img src=x onerror=alert(1)>", "<!-- hidden -->",
    "@everyone look", "[click](javascript:alert(1))", "![x](https://evil.example/x.png)", "`code` ``more``",
    "a\n\n# Heading\n- item", "| a | b |", "**bold** _it_ ~~s~~", "Fixes #1", "https://evil.example", "`", "",
    "&lt;b&gt;", "\\`", "<details><summary>",
]  # fmt: skip


def details(text: str, **changes: Any) -> dict[str, Any]:
    hit = {
        "number": 7, "kind": "pr", "state": "open", "title": text, "author": text, "created": "2026-08-01",
        "head": "h", "score": 50.0, "verdict": "related", "reason": f"touches {text}", "signals": {},
        "diff_seen": True, "draft": False, "declared": False, "because": text, "decided_by": "P",
        "blocks": False,
    }  # fmt: skip
    return {
        "repo": "vllm-project/vllm", "patch": "0001-x.patch", "date": "2026-11-30",
        "queries": [{"purpose": "own", "command": f"gh pr list --search '{text}'", "count": 3, "note": None},
                    {"purpose": "error", "command": "gh issue list", "count": None, "note": text}],
        "inspected": {"open": 10, "open_total": 12, "merged": 5, "closed_unmerged": 2,
                      "since": "2026-07-01T00:00:00Z", "issues": 1, "cut_file_lists": 3},
        "compared": 4, "hits": [hit], "gaps": [text] if text else [], **changes,
    }  # fmt: skip


def outside_code(markdown: str) -> str:
    """What a Markdown reader would interpret: the text without its code spans."""
    import re

    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", markdown)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_the_paragraph_is_interpreted(text: str) -> None:
    paragraph = markdown_paragraph(details(text))
    read = outside_code(paragraph).replace("<!-- -->", "")
    assert "\x1b" not in paragraph
    assert "\u202e" not in paragraph
    assert "<img" not in read
    assert "<details" not in read
    assert "<!--" not in read
    assert "@everyone" not in outside_code(paragraph)
    assert "](" not in read.replace("\\](", "")
    assert "https://evil" not in outside_code(paragraph)
    assert "\n# Heading" not in paragraph
    assert "Fixes #1" not in outside_code(paragraph)


def test_the_paragraph_has_queries_counts_hits_verdicts_reasons_and_the_date() -> None:
    paragraph = markdown_paragraph(details("Fix it"))
    for part in ("2026-11-30", "10 of 12 open", "5 merged and 2 closed unmerged since 2026-07-01",
                 "4 diffs compared",
                 "gh pr list --search 'Fix it'`: 3", "#7 (open) `Fix it`: **related**", "touches Fix it",
                 "Not a duplicate: Fix it", "first 100", "Not everything could be seen"):  # fmt: skip
        assert part in paragraph


def test_a_count_that_was_not_made_is_not_shown_as_none_found() -> None:
    assert "`gh issue list`: not run" in markdown_paragraph(details("offline"))


@pytest.mark.parametrize("text", HOSTILE)
def test_the_terminal_gets_no_control_characters(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(GateResult(gate="duplicates", outcome="skip", summary=text, reason=text, details=details(text)))
    out = capsys.readouterr().out
    assert not set(out) & set("\x1b\x07\u202e\u2066")
    assert "10 of 12 open" in out


def test_an_empty_result_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show(GateResult(gate="duplicates", outcome="pass", summary="none", details=details("x", hits=[])))
    assert "nothing in the index comes near" in capsys.readouterr().out
    assert "No pull request comes near." in markdown_paragraph(details("x", hits=[]))
