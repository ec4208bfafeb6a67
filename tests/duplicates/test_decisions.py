"""A reason is a person's, holds for what was looked at, and survives beside the patches."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import msgspec
import pytest
from pinproof.duplicates.decisions import FILE, Decision, check_reason, load, record, standing, who
from pinproof.errors import InputError

MADE = Decision(
    patch="0001-x.patch", change="c" * 64, repo="vllm-project/vllm", number=7, head="h1",
    because="changes the DSv4 call, ours is Kimi's", by="P <p@example.org>", date="2026-11-30",
)  # fmt: skip


def test_what_is_recorded_is_read_back(tmp_path: Path) -> None:
    record(tmp_path, MADE)
    assert load(tmp_path) == [MADE]
    assert load(tmp_path / "elsewhere") == []


def test_a_second_reason_replaces_the_first_and_others_stay(tmp_path: Path) -> None:
    other = msgspec.structs.replace(MADE, number=3)
    newer = msgspec.structs.replace(MADE, because="looked again: another model")
    for decision in (MADE, other, newer):
        record(tmp_path, decision)
    assert load(tmp_path) == [other, newer]


@pytest.mark.parametrize(
    "changes",
    [{"change": "d" * 64}, {"number": 8}, {"head": "h2"}, {"repo": "sgl-project/sglang"}],
)
def test_a_reason_holds_for_this_change_and_that_commit_only(changes: dict[str, object]) -> None:
    asked = msgspec.structs.replace(MADE, **changes)
    assert standing([MADE], MADE.change, MADE.repo, MADE.number, MADE.head) == MADE
    assert standing([MADE], asked.change, asked.repo, asked.number, asked.head) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "nonononononononono",
        "it is \x1b[2J another one entirely",
        "it is \u202eanother one",
        "x " * 400,
    ],
)
def test_a_reason_that_says_nothing_or_hides_something_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        check_reason(text)


def test_a_reason_becomes_one_line() -> None:
    assert check_reason("  another\n model,  not ours ") == "another model, not ours"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema": "other/9"}', b'{"decisions": [{"number": 1}]}'])
def test_a_file_that_is_none_is_told_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match=r"decisions\.json"):
        load(tmp_path)


def test_git_says_who_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert who(tmp_path) == "Test Person <test@example.org>"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    with pytest.raises(InputError, match=r"user\.name"):
        who(tmp_path)


def _record(folder: Path, number: int) -> None:
    record(folder, msgspec.structs.replace(MADE, number=number))


def test_many_at_once_lose_none(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_record, args=(tmp_path, number)) for number in range(8)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(30)
    assert [decision.number for decision in load(tmp_path)] == list(range(8))
