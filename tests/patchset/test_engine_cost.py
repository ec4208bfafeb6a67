"""Patches of thousands of hunks or files cost about what they hold, and what would not is refused."""

from __future__ import annotations

import random
import time

import pytest
from pinproof.errors import Conflict, InputError
from pinproof.patchset import engine
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import FileDiff, Hunk, parse_patch

from tests.security.attacks import HEAD, diff_text


def moved_hunks(count: int, away: int) -> tuple[list[bytes], FileDiff]:
    """A file of 20 lines a hunk, and a diff whose line numbers are all wrong by `away`."""
    lines = [b"line %d\n" % (number % 97 if number % 20 else number) for number in range(count * 20)]
    hunks = []
    for at in range(20, count * 20 - 20, 20):
        before, after = lines[at - 1], lines[at + 1]
        body = (b" " + before, b"-" + lines[at], b"+changed\n", b" " + after)
        hunks.append(Hunk(at + away, 3, at + away, 3, b"", body))
    return lines, FileDiff("a.py", "modify", "100644", None, None, tuple(hunks))


def test_thousands_of_hunks_with_wrong_line_numbers_find_their_places() -> None:
    lines, diff = moved_hunks(3_000, 400)
    began = time.process_time()
    after = apply_diff(b"".join(lines), diff)
    assert time.process_time() - began < 10
    assert after is not None
    assert after.count(b"changed\n") == len(diff.hunks)


def test_a_file_that_repeats_itself_is_given_up_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_MOST_TRIES", 1_000)
    body = (b" x\n", b"-x\n", b"+y\n", b" z\n")
    diff = FileDiff("a.py", "modify", "100644", None, None, (Hunk(9, 3, 9, 3, b"", body),))
    with pytest.raises(Conflict, match="repeats itself"):
        apply_diff(b"x\n" * 50_000, diff)


def plain_search(lines: list[bytes], taken: list[bool], start: int, old: list[bytes]) -> int | None:
    """git's find_pos as it reads: one step out at a time, later places first."""
    last = len(lines) - len(old)
    for distance in range(max(start, last - start) + 1):
        for at in (start + distance, start - distance):
            if 0 <= at <= last and lines[at : at + len(old)] == old and not any(taken[at : at + len(old)]):
                return at
    return None


@pytest.mark.parametrize("seed", range(30))
def test_the_nearest_place_is_the_one_that_steps_outwards_find(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_FIRST_RADIUS", 2)
    rng = random.Random(seed)
    for _ in range(50):
        lines = [rng.choice([b"a\n", b"bb\n", b"c\n"]) for _ in range(rng.randint(3, 60))]
        old = [rng.choice([b"a\n", b"bb\n", b"c\n"]) for _ in range(rng.randint(1, 3))]
        taken = [rng.random() < 0.1 for _ in lines]
        start = rng.randint(0, len(lines))
        expected = plain_search(lines, taken, min(start, max(len(lines) - len(old), 0)), old)
        hunk = Hunk(
            start + 1 if start else 2, 1, start + 1, 1, b"", (b"+x\n", *(b" " + line for line in old))
        )
        assert engine._find(lines, bytearray(taken), hunk, old, [10**6]) == expected


def test_a_patch_of_thousands_of_files_is_refused_at_once() -> None:
    raw = HEAD + b"".join(diff_text(f"vllm/{number}.py", b"a\n", b"b\n") for number in range(20_000))
    began = time.process_time()
    with pytest.raises(InputError, match="more than 500 files"):
        parse_patch(raw, "many.patch")
    assert time.process_time() - began < 5
