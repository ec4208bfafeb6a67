"""Every command block of the README and the docs is run, and prints what the page shows."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.docs.blocks import Block, Step, blocks, fits, pages, run

# Why a block is shown and not run here; anything else is run.
REASONS = {"needs-github", "needs-gpu", "needs-terminal", "takes-minutes"}


def found() -> dict[str, list[Block]]:
    by_page: dict[str, list[Block]] = defaultdict(list)
    for page in pages():
        for block in blocks(page):
            by_page[block.page].append(block)
    return by_page


def test_what_looks_like_a_session_is_a_console_block() -> None:
    for page in pages():
        for token in MarkdownIt("commonmark").parse(page.read_text("utf-8")):
            if token.type in ("fence", "code_block") and "console" not in token.info:
                assert not re.search(r"^\$ ", token.content, re.M), f"{page}: {token.content[:60]}"


def test_a_block_that_is_not_run_says_why() -> None:
    marks = {mark for page in found().values() for block in page for mark in block.marks}
    assert marks <= REASONS


def test_the_readme_and_the_tutorial_are_run() -> None:
    run_pages = {name for name, page in found().items() if any(not block.marks for block in page)}
    assert {"README.md", "docs/tutorials/first-patch.md"} <= run_pages


@pytest.mark.registry
@pytest.mark.parametrize("page", [name for name, page in found().items() if any(not b.marks for b in page)])
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PINPROOF_PATCHES", raising=False)
    for block in found()[page]:
        for step in () if block.marks else block.steps:
            printed = run(step, tmp_path)
            if "cannot reach the package index" in printed:
                pytest.skip(f"needs the package index: {printed.strip()}")
            assert fits(step.expected, printed), f"{page}:{step.line}: $ {step.command}\n{printed}"


@pytest.mark.parametrize(
    ("expected", "printed", "answer"),
    [
        (("a", "b"), "a\nb\n", True),
        (("a",), "a\nb\n", False),
        (("a", "b"), "a\n", False),
        (("a", "[...]", "d"), "a\nb\nc\nd\n", True),
        (("a", "[...]", "d"), "a\nd\n", True),
        (("a", "[...]"), "a\nb\n", True),
        (("[...]", "7 calls break"), "x\n6 calls break\n", False),
        (("took [...] s",), "took 12 s\n", True),
        (("took [...] s",), "took 12 s and more\n", False),
        (("a.c",), "abc\n", False),
        ((), "", True),
        ((), "surprise\n", False),
        (("a  ",), "a\n\n\n", True),
    ],
)
def test_what_fits(expected: tuple[str, ...], printed: str, answer: bool) -> None:
    assert fits(expected, printed) is answer


def test_a_command_may_go_on_over_lines(tmp_path: Path) -> None:
    page = tmp_path / "x.md"
    page.write_text("# x\n\n```console\n$ cat <<E\n> one\n> E\none\n$ true\n```\n")
    (found_block,) = blocks_of(page)
    assert found_block == (Step(4, "cat <<E\none\nE", ("one",)), Step(8, "true", ()))
    assert run(found_block[0], tmp_path) == "one\n"


def blocks_of(page: Path) -> list[tuple[Step, ...]]:
    from tests.docs import blocks as module

    before, module.REPO = module.REPO, page.parent
    try:
        return [block.steps for block in blocks(page)]
    finally:
        module.REPO = before
