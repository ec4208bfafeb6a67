"""Every finding at a seam has a page that explains it."""

from __future__ import annotations

from pathlib import Path

from pinproof.seams.model import CODES


def test_every_code_has_its_page() -> None:
    pages = Path(__file__).parents[2] / "docs/contract-codes"
    assert {page.stem for page in pages.glob("KC[34]*.md")} == set(CODES)
