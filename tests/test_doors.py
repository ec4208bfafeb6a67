"""The doors make .venv once, wait for each other, and fail in one line with an exit code of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPO

MAKES_IT = r"""#!/bin/sh
program() { printf "#!/bin/sh\n$2\n" >"$1"; chmod +x "$1"; }
case "$1" in
venv) for to; do :; done; mkdir -p "$to/bin"; program "$to/bin/python" "exit 0" ;;
pip) echo made >>"$MADE"; program "$VENV/bin/pinproof" 'echo ran "$@"' ;;
esac
"""
FAILS = """#!/bin/sh
[ "$1" = --version ] || { echo no network >&2; exit 1; }
"""


@pytest.fixture
def door(tmp_path: Path) -> Path:
    """The door `apply` of a checkout in a folder with an odd name."""
    checkout = tmp_path / 'it\'s a "$checkout"'
    (checkout / "tools").mkdir(parents=True)
    for name in ("apply.sh", "_venv.sh"):
        shutil.copy2(REPO / "tools" / name, checkout / "tools" / name)
    (checkout / "pyproject.toml").touch()
    return checkout / "tools/apply.sh"


# Dies, with the door and all its children, after the venv is there and before anything is in it.
DIES = r"""#!/bin/sh
program() { printf "#!/bin/sh\n$2\n" >"$1"; chmod +x "$1"; }
case "$1" in
venv) for to; do :; done; mkdir -p "$to/bin"; program "$to/bin/python" "exit 0"; kill -SIGNAL 0 ;;
esac
"""


def start(door: Path, uv: str | None = MAKES_IT, *, python: bool = True) -> subprocess.Popen[str]:
    checkout = door.parents[1]
    programs = checkout.parent / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("sh", "dirname", "mkdir", "cat", "rm", "sleep", "chmod", "readlink"):
        with contextlib.suppress(FileExistsError):
            (programs / name).symlink_to(str(shutil.which(name)))
    for name, text in {"python3": "#!/bin/sh\n" if python else None, "uv": uv}.items():
        if text is not None and not ((programs / name).exists() and (programs / name).read_text() == text):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
    env = {"PATH": str(programs), "MADE": str(checkout.parent / "made"), "VENV": str(checkout / ".venv")}
    return subprocess.Popen(
        [door, "x"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True)  # fmt: skip


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


def test_three_first_runs_at_once_make_it_once(door: Path) -> None:
    for code, out, err in [finish(process) for process in [start(door) for _ in range(3)]]:
        assert (code, out) == (0, "ran apply x\n"), err
    assert (door.parents[2] / "made").read_text() == "made\n"


@pytest.mark.parametrize("pid", [None, "999999999"])
def test_a_lock_that_a_killed_run_left_is_taken_over(door: Path, pid: str | None) -> None:
    lock = door.parents[1] / ".venv.lock"
    lock.mkdir()
    if pid:
        (lock / "pid").write_text(pid)
    assert finish(start(door))[0] == 0
    assert not lock.exists()


def test_a_checkout_that_was_moved_makes_it_anew(door: Path) -> None:
    finish(start(door))
    moved = door.parents[1].rename(door.parents[2] / "moved")
    assert finish(start(moved / "tools/apply.sh"))[:2] == (0, "ran apply x\n")
    assert (moved.parent / "made").read_text() == "made\nmade\n"


@pytest.mark.parametrize("signal", ["KILL", "INT", "TERM"])
def test_a_first_run_that_was_killed_is_begun_anew(door: Path, signal: str) -> None:
    assert finish(start(door, DIES.replace("SIGNAL", signal)))[0] != 0
    assert (door.parents[1] / ".venv/bin/python").exists()
    assert finish(start(door))[:2] == (0, "ran apply x\n")
    assert not (door.parents[1] / ".venv/.making").exists()


def test_without_the_mark_a_killed_first_run_bricks_the_checkout(door: Path) -> None:
    """The defence taken out: what runs is taken for whole, and nothing makes it so again."""
    made = door.parent / "_venv.sh"
    made.write_text(made.read_text().replace(': >"$making"', ":"))
    finish(start(door, DIES.replace("SIGNAL", "KILL")))
    half = door.parents[1] / ".venv/half"
    half.touch()
    finish(start(door))
    assert half.exists()


def test_a_venv_of_somebody_else_is_not_cleared(door: Path) -> None:
    venv = door.parents[1] / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").write_text("#!/bin/sh\nexit 0\n")
    (venv / "bin/python").chmod(0o755)
    (venv / "theirs").touch()
    assert finish(start(door))[0] == 0
    assert (venv / "theirs").exists()


def test_a_door_may_be_a_link_elsewhere(door: Path) -> None:
    link = door.parents[2] / "apply"
    (door.parents[2] / "hop").symlink_to(door)
    link.symlink_to("hop")
    process = start(door)
    finish(process)
    env = {"PATH": str(door.parents[2] / "bin")}
    done = subprocess.run([link, "y"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ran apply y\n"), done.stderr


@pytest.mark.parametrize("name", ["with\nnewline", "with:colon", "ends with\n"])
def test_a_path_that_no_venv_can_have_is_named(door: Path, name: str) -> None:
    moved = door.parents[1].rename(door.parents[2] / name)
    code, out, err = finish(start(moved / "tools/apply.sh"))
    assert (code, out) == (2, "")
    assert "a newline or a colon" in err
    assert not (moved / ".venv").exists()


def test_without_python_it_says_so_once(door: Path) -> None:
    code, _, err = finish(start(door, None, python=False))
    assert code == 5
    assert err.splitlines()[1:] == ["pinproof: needs Python 3.10 or newer (with venv) as python3"]
    assert not (door.parents[1] / ".venv.lock").exists()


def test_a_failed_installation_shows_why_and_runs_nothing(door: Path) -> None:
    code, out, err = finish(start(door, FAILS))
    assert (code, out) == (5, "")
    assert "no network" in err
    assert "run the same command again" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_checkout_that_cannot_be_written_is_named(door: Path) -> None:
    door.parents[1].chmod(0o555)
    code, _, err = finish(start(door))
    door.parents[1].chmod(0o755)
    assert code == 5
    assert "cannot write" in err
