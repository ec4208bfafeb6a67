"""A fault of our own ends with 70 and a report that can be sent; Ctrl-C never with a traceback."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pinproof import cli


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """`pinproof pins` crashes; returns the folder of the reports."""

    def fail(name: str, arguments: list[str]) -> int:
        raise ZeroDivisionError(f"boom {os.environ['HF_TOKEN']} https://me:pass@host/ {Path.home()}/x")

    monkeypatch.setattr(cli, "_parse_and_run", fail)
    monkeypatch.setenv("HF_TOKEN", "s3cret-value-of-mine")
    return tmp_path / "pinproof-cache/crashes"


def test_a_crash_is_70_and_says_where_the_report_is(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["pins", "/a b"]) == 70
    (report,) = crash.iterdir()
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith("pinproof pins: a fault in pinproof itself: ZeroDivisionError: boom")
    assert str(report) in second
    assert third.startswith("  -> read it, then send it: https://")


def test_the_report_can_be_sent(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["pins", "/a b"])
    (report,) = crash.iterdir()
    text = report.read_text()
    assert "pinproof pins '/a b'" in text
    assert "Traceback" in text
    assert "test_crash.py" in text
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    everything = text + capsys.readouterr().err
    for secret in ("s3cret-value-of-mine", "me:pass", str(Path.home()) + "/x"):
        assert secret not in everything


def test_a_report_that_cannot_be_written_is_printed(
    crash: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    crash.parent.mkdir()
    crash.write_text("in the way")
    assert cli.main(["pins"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_endless_recursion_is_a_crash_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def deep(name: str, arguments: list[str]) -> int:
        return deep(name, arguments)

    monkeypatch.setattr(cli, "_parse_and_run", deep)
    assert cli.main(["pins"]) == 70
    assert "RecursionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_it_in_one_line(number: signal.Signals, code: int) -> None:
    program = (
        "import sys, time, pinproof.cli as cli, pinproof.__main__ as start\n"
        "cli._parse_and_run = lambda *a: (print('go', flush=True), time.sleep(20))\n"
        "sys.argv = ['pinproof', 'pins', 'x']\nsys.exit(start.run())"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(number)
    _, err = child.communicate(timeout=10)
    assert child.returncode == code
    assert len(err.splitlines()) == 1


def test_ctrl_c_while_modules_are_imported_shows_no_traceback() -> None:
    program = "import pinproof.__main__, os, time; os.kill(os.getpid(), 2); time.sleep(9)"
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == b""
    assert time.monotonic() - began < 9
