"""What the runner would read as a command is broken, however it is cut into writes; our own passes."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.cli import main
from pinproof.runner import Guarded, guarded_output, write_command

PIECES = st.lists(
    st.sampled_from(["::", ":", "#", "##[", "[", "\n", "\r", " ", "\u00a0", "\u3000", "x", "error::"])
)


def written(*pieces: str) -> str:
    out = io.StringIO()
    stream = Guarded(cast("io.TextIOWrapper", out))
    for piece in pieces:
        stream.write(piece)
    return out.getvalue()


def commands(text: str) -> list[str]:
    """The lines that the runner takes for commands (ActionCommand.TryParse and TryParseV2)."""
    lines = re.split(r"\r\n|\r|\n", text)
    return [line for line in lines if line.lstrip().startswith("::") or "##[" in line]


@given(PIECES)
def test_no_command_comes_out_of_any_writes(pieces: list[str]) -> None:
    assert commands(written(*pieces)) == []


@given(PIECES)
def test_cutting_text_into_writes_changes_nothing(pieces: list[str]) -> None:
    assert written(*pieces) == written("".join(pieces))


@pytest.mark.parametrize("text", ["a::b", "Foo::bar()", "# ## [x]", "#[x]", "a: :b", "std::vector\n std"])
def test_what_is_no_command_stays_as_it_is(text: str) -> None:
    assert written(text) == text


def test_a_long_line_does_not_hide_a_command() -> None:
    assert commands(written(" " * 9000, "::error::x")) == []
    assert commands(written("x" * 9000 + "##", "[error]")) == []


def test_json_stays_what_it_was() -> None:
    value = {"title": "##[error]x\n::error::y"}
    assert json.loads(written(json.dumps(value, indent=2))) == value


def test_our_own_commands_pass(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with guarded_output():
        sys.stdout.write("::error::theirs\n")
        write_command("::error::ours")
    assert capsys.readouterr().out == ":\\u003aerror::theirs\n::error::ours\n"


def test_elsewhere_nothing_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    with guarded_output():
        sys.stdout.write("::x\n")
        write_command("::y")
    assert capsys.readouterr().out == "::x\n::y\n"


def test_a_wrong_argument_is_no_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert main(["verdict", "a\n::error::x", "/nowhere\n##[error]y"]) == 2
    captured = capsys.readouterr()
    assert commands(captured.out + captured.err) == []
