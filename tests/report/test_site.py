"""Writing the site: whole or not at all, and never over what is not a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import Refused
from pinproof.report.site import write_site


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    write_site(tmp_path / "a/b", {"index.html": b"1", "data/x.json": b"2"})
    assert (tmp_path / "a/b/data/x.json").read_bytes() == b"2"


def test_an_older_report_is_replaced_whole(tmp_path: Path) -> None:
    write_site(tmp_path / "site", {"old.html": b"1"})
    write_site(tmp_path / "site", {"new.html": b"2"})
    assert sorted(path.name for path in (tmp_path / "site").glob("*.html")) == ["new.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    write_site(tmp_path / "site", {"index.html": b"1"})
    assert (tmp_path / "site/index.html").exists()


def test_a_folder_of_the_users_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/thesis.txt").write_text("mine")
    with pytest.raises(Refused, match="not a report"):
        write_site(tmp_path / "site", {"index.html": b"1"})
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["thesis.txt"]


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("mine")
    with pytest.raises(Refused, match="not a folder"):
        write_site(tmp_path / "site", {"index.html": b"1"})


def test_a_write_that_fails_leaves_the_old_report(tmp_path: Path) -> None:
    write_site(tmp_path / "site", {"index.html": b"old"})
    with pytest.raises(OSError, match="File name too long"):
        write_site(tmp_path / "site", {"index.html": b"new", "x" * 300: b""})
    assert (tmp_path / "site/index.html").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
