"""The engine places hunks where git would, and undoes exactly what it did."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pinproof.errors import Conflict
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import FileDiff, Patch, parse_patch

from tests.trees import model_file

HEAD = b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nDate: x\nSubject: y\n\n"

lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d d\n"]), max_size=25)
files = st.builds(lambda body, last: b"".join(body) + last, lines, st.sampled_from([b"", b"end", b"x\r\n"]))


def git_diff(old: bytes, new: bytes, folder: Path) -> FileDiff | None:
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    (folder / "a/f").write_bytes(old)
    (folder / "b/f").write_bytes(new)
    command = ["git", "diff", "--no-index", "--full-index", "--no-prefix", "--text", "a/f", "b/f"]
    text = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
    return parse_patch(HEAD + text, "p").diffs[0] if text else None


@settings(max_examples=60, deadline=None)
@given(files, files)
def test_applying_and_reverting_gives_both_files_back(old: bytes, new: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        diff = git_diff(old, new, Path(folder))
    if diff is not None:
        assert apply_diff(old, diff) == new
        assert apply_diff(new, diff, reverse=True) == old


@settings(max_examples=60, deadline=None)
@given(files, files, files)
def test_on_another_file_the_engine_does_what_git_apply_does(old: bytes, new: bytes, other: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        diff = git_diff(old, new, folder)
        if diff is None or (b"\r\n" in other and other.count(b"\r\n") == other.count(b"\n")):
            return  # a file with CRLF throughout is ours to handle, git refuses it
        text = subprocess.run(
            ["git", "diff", "--no-index", "--no-prefix", "--text", "a/f", "b/f"],
            cwd=folder, capture_output=True, check=False,
        ).stdout  # fmt: skip
        (folder / "f").write_bytes(other)
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-p1", "-"],
            cwd=folder,
            input=text,
            capture_output=True,
            check=False,
        )
        theirs = (folder / "f").read_bytes() if done.returncode == 0 else None
    try:
        ours = apply_diff(other, diff)
    except Conflict:
        ours = None
    assert ours == theirs


def test_a_moved_hunk_is_found(patch: Patch) -> None:
    moved = b"# more\n" * 40 + model_file(patch, fixed=False)
    after = apply_diff(moved, patch.diffs[0])
    assert after == b"# more\n" * 40 + model_file(patch, fixed=True)


def test_a_conflict_names_the_hunk_and_the_missing_line(patch: Patch) -> None:
    with pytest.raises(
        Conflict, match=r"hunk 1 \(line 486\) does not apply: the file has no line 'activation_beta"
    ):
        apply_diff(model_file(patch, fixed=True), patch.diffs[0])


def test_a_crlf_file_stays_a_crlf_file(patch: Patch) -> None:
    before = model_file(patch, fixed=False).replace(b"\n", b"\r\n")
    after = apply_diff(before, patch.diffs[0])
    assert after == model_file(patch, fixed=True).replace(b"\n", b"\r\n")


def test_a_missing_file_is_a_conflict(patch: Patch) -> None:
    with pytest.raises(Conflict, match="does not exist"):
        apply_diff(None, patch.diffs[0])
