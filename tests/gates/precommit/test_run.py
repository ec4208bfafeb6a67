"""pre-commit's output is read hook by hook, however it arrives and whatever the hooks print."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.gates.precommit.run import HookRun, Reader, Session, _environment

NONCE = "0123456789abcdef"
OUTPUT = f"""\
[INFO] Installing environment for local.
{NONCE}-0..................................Passed
- hook id: a
- duration: 0.25s

all good
{NONCE}-1.............(no files to check)Skipped
- hook id: b
{NONCE}-2..................................Failed
- hook id: c
- duration: 1.5s
- exit code: 3
- files were modified by this hook

mypy-3.10................................Passed
- exit code: 0

{NONCE}-3..................................Passed
- hook id: d
- duration: 0s
""".encode()


def read(chunks: list[bytes], exit_code: int | None) -> tuple[Session, list[tuple[str, int, str]]]:
    events: list[tuple[str, int, str]] = []
    reader = Reader(NONCE, lambda *event: events.append(event))
    for chunk in chunks:
        reader.feed(chunk)
    return reader.session(exit_code), events


def test_each_hook_has_its_status_output_code_time_and_whether_it_wrote() -> None:
    session, _ = read([OUTPUT], 1)
    assert session.ended == "done"
    assert session.runs[0] == HookRun("Passed", "all good", 0, 0.25, False)
    assert session.runs[1].status == "Skipped"
    assert session.runs[2] == HookRun(
        "Failed", "mypy-3.10................................Passed\n- exit code: 0", 3, 1.5, True
    )


def test_a_hook_that_prints_like_pre_commit_is_not_taken_for_it() -> None:
    session, _ = read([OUTPUT], 1)
    assert set(session.runs) == {0, 1, 2, 3}
    assert session.runs[2].status == "Failed"


@given(st.lists(st.integers(1, len(OUTPUT) - 1), max_size=12))
def test_it_does_not_matter_where_the_output_is_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(set(cuts)), len(OUTPUT)]
    chunks = [OUTPUT[a:b] for a, b in itertools.pairwise(edges)]
    session, events = read(chunks, 1)
    whole, _ = read([OUTPUT], 1)
    assert session == whole
    assert [event[1] for event in events if event[0] == "end"] == [0, 1, 2, 3]


def test_a_hook_at_work_is_known_before_it_ends() -> None:
    session, events = read([f"{NONCE}-7.........".encode()], None)
    assert events == [("start", 7, "")]
    assert (session.ended, session.at) == ("hang", 7)


def test_an_installation_that_fails_ends_before_any_hook_with_what_was_said() -> None:
    session, events = read(
        [b"[INFO] Installing environment for local.\nAn unexpected error\nERROR: no index\n"], 3
    )
    assert (session.ended, session.at, session.runs) == ("broken", None, {})
    assert "ERROR: no index" in session.said
    assert events == [("note", -1, "Installing environment for local.")]


def test_a_crash_inside_a_hook_names_the_hook() -> None:
    session, _ = read([f"{NONCE}-0.....Passed\n{NONCE}-1....An unexpected error has occurred\n".encode()], 3)
    assert session.ended == "broken"
    assert session.runs.keys() == {0}


def test_no_hook_for_a_stage_is_no_failure() -> None:
    session, _ = read([b""], 0)
    assert (session.ended, session.runs) == ("done", {})


@pytest.mark.parametrize("size", [10, 200_000])
def test_endless_output_is_cut_and_says_by_how_much(size: int) -> None:
    text = f"{NONCE}-0....Failed\n- hook id: a\n- exit code: 1\n\n{'x' * size}\n".encode()
    output = read([text], 1)[0].runs[0].output
    assert len(output) < 70_000
    assert ("more characters]" in output) == (size > 70_000)


def test_a_hook_that_prints_without_end_is_kept_to_a_bounded_size() -> None:
    first = f"{NONCE}-0....Failed\n- hook id: a\n- exit code: 1\n\n".encode()
    last = f"\n{NONCE}-1....Passed\n- hook id: b\n".encode()
    for flood in (b"y\n" * 32_768, b"x" * 65_536):
        reader = Reader(NONCE, lambda *event: None)
        for chunk in (first, *[flood] * 60, last):
            reader.feed(chunk)
            assert len(reader._partial) <= 65_536
        session = reader.session(1)
        assert session.runs[1].status == "Passed"
        assert len(session.runs[0].output) < 66_000
        left_out = int(session.runs[0].output.rsplit("[", 1)[1].split()[0])
        assert abs(left_out - 59 * 65_536) < 200


def test_a_hook_whose_id_holds_lines_of_its_own_is_read_all_the_same() -> None:
    text = f"{NONCE}-0....Failed\n- hook id: a\n- duration: soon\n- exit code: none\n- exit code: 1\n"
    session, _ = read([text.encode()], 1)
    assert (session.runs[0].exit_code, session.runs[0].duration_s) == (1, 0.0)


def test_hooks_are_given_no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "a-token")
    monkeypatch.setenv("DEPLOY_KEY", "a-key")
    environment = _environment(tmp_path, tmp_path)
    assert not {"GITHUB_TOKEN", "DEPLOY_KEY"} & set(environment)
    assert "PATH" in environment
