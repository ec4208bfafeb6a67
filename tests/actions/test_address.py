"""The repository's address: pyproject.toml says it, and what is copied from the documentation agrees."""

from __future__ import annotations

import re

from pinproof.toml import tomllib

from tests.conftest import REPO

URL = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]
SLUG = URL.removeprefix("https://github.com/")
PAGES = [REPO / "README.md", REPO / "mkdocs.yml", *sorted((REPO / "docs").rglob("*.md"))]
PLACE = re.compile(r"(?:uses: |github\.com/|--repo )([\w.-]+/pinproof)\b")


def test_every_place_that_names_the_repository_names_this_one() -> None:
    places = {
        f"{path.relative_to(REPO)}:{number}": match[1]
        for path in PAGES if path.is_file()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in PLACE.finditer(line)
    }  # fmt: skip
    assert len(places) >= 4
    assert {place: slug for place, slug in places.items() if slug != SLUG} == {}
