"""The index survives hostile text, damage, two runs at once and a kill in the middle."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pinproof.duplicates.index.opening import check_repo, index_path, open_index, writing
from pinproof.duplicates.pulls import Pull, from_graphql
from pinproof.duplicates.recall import candidates, rarity
from pinproof.duplicates.subject import describe
from pinproof.errors import InputError
from pinproof.patchset.patchfile import Patch

from tests.duplicates.conftest import SMALL, kimi_pull, made_pull, patch_of
from tests.duplicates.github_data import pull_node

REPO = "vllm-project/vllm"
PULLS = [from_graphql(pull_node(made), REPO) for made in SMALL.pulls.values()]


def numbers(path: Path, patch: Patch) -> set[int]:
    index = open_index(path)
    try:
        subject = describe(patch, REPO)
        return {candidate.number for candidate in candidates(index, subject, rarity(index, subject))}
    finally:
        index.db.close()


def stored(path: Path, pulls: list[Pull]) -> None:
    index = open_index(path)
    index.store(pulls)
    index.db.close()


def test_storing_again_replaces(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    stored(path, PULLS)
    stored(path, PULLS)
    index = open_index(path)
    assert index.count(states=("open", "closed", "merged")) == len(PULLS)
    assert index.db.execute("SELECT count(*) FROM text").fetchone()[0] == len(PULLS)
    index.db.close()


HOSTILE = [
    "'; DROP TABLE pull; --", '" OR text:*', "NEAR(a b, 5)", "title : x AND (",
    "a* ^b -c", "\x1b]0;owned\x07",
    "<script>alert(1)</script>", "\u202egnp.exe", "%s %d {0}", "\ud800 lone", "\0 nul", "x" * 1_048_576,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_titles_and_bodies_are_stored_and_found(tmp_path: Path, patch: Patch, text: str) -> None:
    path = tmp_path / "i.sqlite"
    made = kimi_pull(5, title=text, body=text + " `fp8_fp4_mega_moe` situ_beta")
    stored(path, [*PULLS, from_graphql(pull_node(made), REPO)])
    assert 5 in numbers(path, patch)
    assert path.stat().st_size < 5_000_000


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_a_patch_with_any_text_makes_no_bad_query(tmp_path: Path, text: str) -> None:
    path = tmp_path / "i.sqlite"
    if not path.exists():
        stored(path, PULLS[:50])
    subject = " ".join(text.split()) or "x"
    numbers(
        path, patch_of(subject, f"Words.\n\nValueError: {subject}", "a.py", [f"x = {subject}"], ["x = 1"])
    )


def test_a_damaged_file_is_set_aside_and_made_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "i.v1.sqlite"
    path.write_bytes(b"no database at all, but long enough to be one" * 100)
    index = open_index(path)
    assert index.count() == 0
    index.db.close()
    assert "is damaged" in capsys.readouterr().err
    assert path.with_suffix(".damaged").exists()


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot open the index"):
        open_index(tmp_path)


def _fill_forever(path: Path) -> None:
    with writing(path):
        index = open_index(path)
        while True:
            for at in range(0, len(PULLS), 20):
                index.store(PULLS[at : at + 20], ("closed/graphql", b"{}"))


def _fill_once(path: Path) -> None:
    with writing(path):
        stored(path, PULLS)


def test_a_kill_in_the_middle_leaves_whole_pages_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    run = multiprocessing.get_context("fork").Process(target=_fill_forever, args=(path,))
    run.start()
    deadline = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.25)
    assert run.pid
    os.kill(run.pid, signal.SIGKILL)
    run.join()
    with writing(path):
        index = open_index(path)
    rows = index.db.execute("SELECT count(*) FROM pull").fetchone()[0]
    assert rows
    assert rows % 20 == 0
    assert rows == index.db.execute("SELECT count(*) FROM text").fetchone()[0]
    assert index.db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    index.db.close()


def test_two_first_runs_at_once_both_end_well(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_fill_once, args=(path,)) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(30)
    assert [run.exitcode for run in runs] == [0, 0, 0]
    index = open_index(path)
    assert index.count(states=("open", "closed", "merged")) == len(PULLS)
    index.db.close()


def test_a_reader_sees_whole_pages_while_another_run_writes(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    stored(path, PULLS[:20])
    writer = open_index(path)
    writer.db.execute("BEGIN IMMEDIATE")
    writer.db.execute("DELETE FROM pull")
    reader = open_index(path)
    assert reader.count(states=("open", "closed", "merged")) == 20
    writer.db.rollback()
    writer.db.close()
    reader.db.close()


@pytest.mark.parametrize("repo", ["../etc", "a/..", "a/b/c", "a", "a b/c", "a/b\n", "-a/b", ""])
def test_a_repository_name_cannot_leave_the_cache(repo: str) -> None:
    with pytest.raises(InputError, match="is not a repository"):
        check_repo(repo)


def test_each_server_and_repository_has_a_file_of_its_own() -> None:
    paths = {
        index_path("vllm-project/vllm", "https://api.github.com"),
        index_path("sgl-project/sglang", "https://api.github.com"),
        index_path("vllm-project/vllm", "http://127.0.0.1:9"),
    }
    assert len(paths) == 3


def test_the_diff_of_an_older_commit_is_not_used(tmp_path: Path) -> None:
    from pinproof.duplicates.diffs import facts_of_files

    index = open_index(tmp_path / "i.sqlite")
    made = made_pull(7)
    index.store([from_graphql(pull_node(made), REPO)])
    index.store_diff(7, made.head, facts_of_files(made.patches.items()), made.patches)
    assert index.diff(7) is not None
    index.store([from_graphql({**pull_node(made), "headRefOid": "f" * 40}, REPO)])
    assert index.diff(7) is None
    index.db.close()


def test_full_text_search_is_built_into_this_python() -> None:
    assert ("ENABLE_FTS5",) in sqlite3.connect(":memory:").execute("PRAGMA compile_options").fetchall()
