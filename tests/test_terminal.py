"""Widths, colour and signs of life: at a terminal, in a pipe, and as the user's variables ask for."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.console import folded, table
from pinproof.patchset.patchfile import Patch
from pinproof.progress import heartbeat, progress

from tests.trees import SITU, make_tree

COMMANDS = [
    ["verdict", "TREE"], ["contract", "TREE"], ["pins", "TREE"],
    ["lint"], ["status", "--offline"], ["verdict", "no-such-folder"],
]  # fmt: skip


def without_wishes() -> dict[str, str]:
    """The environment without what asks for colour or a width."""
    wishes = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE")
    return {name: value for name, value in os.environ.items() if name not in wishes}


def at_terminal(command: list[str], columns: int) -> str:
    """What a command shows on a terminal of this width."""
    import fcntl
    import pty
    import struct
    import termios

    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "pinproof", *command], stdin=subprocess.DEVNULL, stdout=child, stderr=child,
        env={**without_wishes(), "TERM": "xterm"},
    )  # fmt: skip
    os.close(child)
    shown = b""
    while True:
        try:
            data = os.read(parent, 65536)
        except OSError:
            break
        shown += data
    os.close(parent)
    process.wait()
    return shown.decode()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_lines_fit_80_columns(command: list[str], tmp_path: Path, patch: Patch) -> None:
    tree = make_tree(tmp_path / "t", patch, fixed=False, declares=SITU)
    arguments = [str(tree) if word == "TREE" else word for word in command]
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", at_terminal(arguments, 80)).replace(str(tree), "TREE")
    # A command to copy is left whole, and so is a word or a path.
    too_long = [line for line in shown.splitlines() if len(line) > 80 and not line.startswith("  -> ")]
    assert too_long == []
    assert shown


def test_a_sentence_in_a_pipe_stays_on_one_line_and_columns_folds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "word " * 50
    monkeypatch.delenv("COLUMNS", raising=False)
    assert folded(text, io.StringIO(), first="  ") == "  " + text
    monkeypatch.setenv("COLUMNS", "60")
    lines = folded(text, io.StringIO(), first="  ", rest="    ").splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1].startswith("    word")


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({}, False), ({"FORCE_COLOR": "1"}, True), ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, False), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, True),
    ],
)  # fmt: skip
def test_colour_off_a_terminal_only_where_it_is_asked_for(
    env: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    table(("gate", "result"), [("smoke", "fail")])
    assert ("\x1b[1;31m" in capsys.readouterr().out) == coloured


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"CLICOLOR": "0"}, False), ({"NO_COLOR": "1"}, False)]
)
def test_colour_on_a_terminal_unless_it_is_switched_off(env: dict[str, str], coloured: bool) -> None:
    import pty

    script = "from pinproof.console import table; table(('a', 'b'), [('x', 'fail')])"

    parent, child = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR")}
    subprocess.run(
        [sys.executable, "-c", script], stdout=child, env={**clean, "TERM": "xterm", **env}, check=True
    )
    os.close(child)
    shown = os.read(parent, 65536)
    os.close(parent)
    assert (b"\x1b[1;31m" in shown) == coloured


def test_long_work_shows_signs_of_life_in_a_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pinproof.progress._FIRST_S", 0.05)
    monkeypatch.setattr("pinproof.progress._NEXT_S", 0.05)
    with heartbeat("contract"), progress("reading x.whl", 40_000_000, unit="bytes") as bar:
        bar.advance(12_300_000)
        time.sleep(0.08)
    time.sleep(0.1)
    assert capfd.readouterr().err == "pinproof contract: working, 0 s: reading x.whl, 12.3 of 40.0 MB\n"


def test_short_work_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["lint"]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands_and_their_options(
    shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("verdict", "if-needed", "find-links"):
        assert word in script
    import shutil

    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_manual_pages_are_made_from_the_help(tmp_path: Path) -> None:
    pytest.importorskip("argparse_manpage", reason="pinproof[man] is not installed")
    assert main(["completion", "man", str(tmp_path / "man1")]) == 0
    names = {path.stem for path in (tmp_path / "man1").iterdir()}
    assert {"pinproof", "pinproof-verdict", "pinproof-apply"} <= names
    assert "\\-\\-if\\-needed" in (tmp_path / "man1/pinproof-apply.1").read_text()
    assert main(["completion", "man"]) == 2
