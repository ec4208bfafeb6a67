"""After sending, exactly two header lines of the patch file change, or nothing does."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from pinproof.errors import Refused
from pinproof.patchset.fields import field_problems
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.header import record_submission

from tests.submit.conftest import NAME

URL = "https://github.com/vllm-project/vllm/pull/52445"


@pytest.fixture
def source(patch: Patch, tmp_path: Path) -> Path:
    (tmp_path / NAME).write_bytes(patch.raw)
    return tmp_path / NAME


def test_only_the_two_fields_change(patch: Patch, source: Path) -> None:
    record_submission(source, patch, URL, date(2026, 12, 1))
    before, after = patch.raw.splitlines(), source.read_bytes().splitlines()
    assert [line for line in after if line not in before] == [
        f"Upstream-Status: Submitted [{URL}]".encode(),
        b"Last-Update: 2026-12-01",
    ]
    assert len(before) == len(after)


def test_the_result_is_a_patch_that_lint_accepts(patch: Patch, source: Path) -> None:
    sent = record_submission(source, patch, URL, date(2026, 12, 1))
    assert sent == parse_patch(source.read_bytes(), NAME)
    assert list(field_problems(sent)) == []


def test_recording_it_twice_is_the_same(patch: Patch, source: Path) -> None:
    first = record_submission(source, patch, URL, date(2026, 12, 1))
    assert record_submission(source, first, URL, date(2026, 12, 1)) == first


def test_a_patch_edited_since_is_left_alone(patch: Patch, source: Path) -> None:
    edited = patch.raw.replace(b"The values do not change", b"No value changes")
    source.write_bytes(edited)
    with pytest.raises(Refused, match="was edited since it was sent") as caught:
        record_submission(source, patch, URL, date(2026, 12, 1))
    assert source.read_bytes() == edited
    assert f"Submitted [{URL}]" in (caught.value.hint or "")


def test_a_line_of_the_prose_that_looks_like_the_field_stays(patch: Patch, tmp_path: Path) -> None:
    raw = patch.raw.replace(b"Rename the two", b"Upstream-Status: old\nRename the two", 1)
    hostile = parse_patch(raw, NAME)
    (tmp_path / NAME).write_bytes(raw)
    sent = record_submission(tmp_path / NAME, hostile, URL, date(2026, 12, 1))
    assert "Upstream-Status: old" in sent.prose
    from pinproof.submit.keys import patch_hash

    other = parse_patch(raw.replace(b"Status: old", b"Status: new"), NAME)
    assert patch_hash(other) != patch_hash(hostile)
