"""A record that was edited, cut, dated ahead or is of another kind is refused with the reason."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pinproof.errors import InputError
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.submit.evidence import record
from pinproof.submit.records import (
    CLOCK_SKEW,
    EvidenceRecord,
    Line,
    ReviewRecord,
    Sha256,
    Utc,
    decode,
    encode,
    sealed,
)
from pinproof.tree import Tree

from tests.submit.conftest import NOW, review_of

PASSED = GateResult(
    gate="compile", outcome="pass", summary="1 file compiles",
    details={"files": ["a.py"], "faults": [], "checked": [{"python": "3.10", "by": "ruff"}]},
)  # fmt: skip


def stored(patch: Patch, tree: Tree) -> bytes:
    return encode(record(patch, tree, PASSED, NOW))


def edited(raw: bytes, **changes: Any) -> bytes:
    return json.dumps({**json.loads(raw), **changes}).encode()


def test_a_record_reads_back_as_it_was_written(patch: Patch, tree: Tree) -> None:
    made = record(patch, tree, PASSED, NOW)
    assert decode(encode(made), EvidenceRecord, "compile.json", NOW) == made


@pytest.mark.parametrize(
    "change", [{"outcome": "fail"}, {"summary": "x"}, {"date": "2026-11-01T00:00:00Z"}, {"details": {}},
               {"duration_s": 9.0}, {"seal": "0" * 64}, {"seal": ""}]
)  # fmt: skip
def test_an_edited_field_breaks_the_seal(patch: Patch, tree: Tree, change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="edited after it was written"):
        decode(edited(stored(patch, tree), **change), EvidenceRecord, "compile.json", NOW)


@pytest.mark.parametrize("length", [0, 1, 100, -3])
def test_a_truncated_record_is_refused(patch: Patch, tree: Tree, length: int) -> None:
    with pytest.raises(InputError, match=r"compile\.json: is truncated or damaged"):
        decode(stored(patch, tree)[:length], EvidenceRecord, "compile.json", NOW)


def test_a_record_of_another_schema_is_refused(patch: Patch, tree: Tree) -> None:
    raw = edited(stored(patch, tree), schema="pinproof.evidence/2")
    with pytest.raises(InputError, match="of a version known here"):
        decode(raw, EvidenceRecord, "compile.json", NOW)


def test_an_unknown_field_is_refused(patch: Patch, tree: Tree) -> None:
    with pytest.raises(InputError, match="unknown field `approved`"):
        decode(edited(stored(patch, tree), approved=True), EvidenceRecord, "compile.json", NOW)


def test_a_review_is_no_evidence(patch: Patch, tree: Tree) -> None:
    with pytest.raises(InputError, match="is not a valid EvidenceRecord"):
        decode(encode(review_of(patch, tree)), EvidenceRecord, "compile.json", NOW)


def test_a_future_date_is_refused_beyond_the_clock_skew(patch: Patch, tree: Tree) -> None:
    raw = encode(record(patch, tree, PASSED, NOW + CLOCK_SKEW))
    assert decode(raw, EvidenceRecord, "compile.json", NOW).outcome == "pass"
    with pytest.raises(InputError, match="dated in the future"):
        decode(raw, EvidenceRecord, "compile.json", NOW - timedelta(seconds=1))


def test_a_date_that_does_not_exist_is_refused(patch: Patch, tree: Tree) -> None:
    made = record(patch, tree, PASSED, NOW)
    raw = encode(sealed(replace(made, date="2026-02-30T00:00:00Z")))
    with pytest.raises(InputError, match="is not a date"):
        decode(raw, EvidenceRecord, "compile.json", NOW)


def test_a_deeply_nested_file_is_damaged_not_a_crash() -> None:
    with pytest.raises(InputError, match="damaged"):
        decode(b'{"details":{"x":' + b"[" * 200_000, EvidenceRecord, "compile.json", NOW)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_an_input_error(raw: bytes) -> None:
    with pytest.raises(InputError):
        decode(raw, ReviewRecord, "review.json", datetime.now(NOW.tzinfo))


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Line, "one line\n"), (Utc, "2026-11-30T10:00:00Z\n"), (Sha256, "a" * 64 + "\n")],
)
def test_a_line_break_after_the_text_is_no_part_of_a_field(kind: Any, text: str) -> None:
    assert msgspec.convert(text.rstrip("\n"), type=kind) == text.rstrip("\n")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, type=kind)
