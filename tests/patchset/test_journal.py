"""A set of files changes as one, whatever moment the process dies at."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pinproof.errors import InputError, Refused
from pinproof.patchset.journal import Change, settle, tree_lock, write_all


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_all_files_change_and_nothing_is_left_beside_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    write_all(
        tmp_path, [Change("a", b"1", b"x"), Change("b", b"2", None), Change("sub/c", None, b"z", 0o755)]
    )
    assert (tmp_path / "a").read_bytes() == b"x"
    assert not (tmp_path / "b").exists()
    assert stat.S_IMODE((tmp_path / "sub/c").stat().st_mode) == 0o755
    assert names(tmp_path) == ["a", "sub"]


def test_a_file_changed_meanwhile_stops_the_whole_set(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"edited")
    with pytest.raises(Refused, match="b changed while"):
        write_all(tmp_path, [Change("a", b"1", b"x"), Change("b", b"2", b"y")])
    assert (tmp_path / "a").read_bytes() == b"1"


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "a").chmod(0o444)
    write_all(tmp_path, [Change("a", b"1", b"x", 0o644)])
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o444


def test_a_hard_link_to_a_package_cache_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"1")
    (tmp_path / "a").hardlink_to(tmp_path / "cache")
    write_all(tmp_path, [Change("a", b"1", b"x")])
    assert (tmp_path / "cache").read_bytes() == b"1"


def test_a_link_inside_the_tree_is_followed_and_one_out_of_it_refused(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "real").write_bytes(b"1")
    (tree / "inside").symlink_to("real")
    (tmp_path / "outside").write_bytes(b"1")
    (tree / "leaving").symlink_to("../outside")
    write_all(tree, [Change("inside", b"1", b"x")])
    assert (tree / "real").read_bytes() == b"x"
    assert (tree / "inside").is_symlink()
    with pytest.raises(InputError, match="leads out of the tree"):
        write_all(tree, [Change("leaving", b"1", b"x")])
    assert (tmp_path / "outside").read_bytes() == b"1"


def test_a_failing_write_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"1")
    real = os.fsync
    calls = iter(range(100))

    def full_disk(fd: int) -> None:
        if next(calls) == 2:  # the journal took two; this is the new file's
            raise OSError(28, "No space left on device")
        real(fd)

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_all(tmp_path, [Change("a", b"1", b"x")])
    monkeypatch.setattr(os, "fsync", real)
    assert (tmp_path / "a").read_bytes() == b"1"
    assert names(tmp_path) == ["a"]


HOLD = "import sys; from pathlib import Path; from pinproof.patchset.journal import tree_lock\n"
HOLD += "with tree_lock(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"


def test_two_runs_at_once_are_told_apart(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(Refused, match="another run"), tree_lock(tmp_path):
            pass
        other.communicate(b"")
    with tree_lock(tmp_path):
        pass


def test_a_run_may_take_its_own_lock_again_and_lets_it_go_once(tmp_path: Path) -> None:
    with tree_lock(tmp_path):
        with tree_lock(tmp_path):
            pass
        done = subprocess.run(
            [sys.executable, "-c", HOLD, str(tmp_path)], capture_output=True, stdin=subprocess.DEVNULL
        )
        assert b"another run" in done.stderr
    done = subprocess.run(
        [sys.executable, "-c", HOLD, str(tmp_path)], capture_output=True, stdin=subprocess.DEVNULL
    )
    assert done.stdout == b"held\n"


def test_a_planted_journal_cannot_reach_outside(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    journal = b'{"state":"committed","entries":[{"path":"../x","before":null,"after":null}]}'
    (tree / ".pinproof-journal").write_bytes(journal)
    (tmp_path / "x").write_bytes(b"keep")
    with pytest.raises(InputError, match="not a journal of ours"):
        settle(tree)
    assert (tmp_path / "x").read_bytes() == b"keep"


def test_an_edit_after_a_crash_is_not_overwritten(tmp_path: Path) -> None:
    entry = b'{"path":"a","before":"%s","after":"%s"}' % (b"0" * 64, b"1" * 64)
    (tmp_path / ".pinproof-journal").write_bytes(b'{"state":"committed","entries":[%s]}' % entry)
    (tmp_path / "a").write_bytes(b"my edit")
    with pytest.raises(Refused, match="edited after an interrupted run"):
        settle(tmp_path)
    assert (tmp_path / "a").read_bytes() == b"my edit"


LOOP = """
import sys, itertools
from pathlib import Path
from pinproof.patchset.journal import Change, settle, tree_lock, write_all
root = Path(sys.argv[1])
old, new = b"old" * 20000, b"new" * 20000
print("go", flush=True)
for _ in itertools.count():
    with tree_lock(root):
        settle(root)
        now = [(root / n).read_bytes() for n in "ab"]
        assert now in ([old, old], [new, new]), "mixed"
        target = new if now[0] == old else old
        write_all(root, [Change("a", now[0], target), Change("b", now[1], target)])
"""


def kill_trials(root: Path, trials: int, seed: int) -> None:
    """Kill a process that applies and reverts without end; after each, every file is whole and settles."""
    old, new = b"old" * 20000, b"new" * 20000
    for name in "ab":
        (root / name).write_bytes(old)
    rng = random.Random(seed)
    for _ in range(trials):
        child = subprocess.Popen([sys.executable, "-c", LOOP, str(root)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(rng.random() * 0.03)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert all((root / name).read_bytes() in (old, new) for name in "ab")
        settle(root)
        assert (root / "a").read_bytes() == (root / "b").read_bytes()
        assert names(root) == ["a", "b"]


def test_kill_at_any_moment_leaves_whole_files_and_the_next_run_settles(tmp_path: Path) -> None:
    kill_trials(tmp_path, 25, seed=1)
