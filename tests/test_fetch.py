"""A release as a git tree: safe to unpack, the same commit everywhere, and nothing left of a broken run."""

from __future__ import annotations

import os
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest
from pinproof import fetch
from pinproof.errors import CannotCheck, Conflict, InputError, Refused
from pinproof.fetch import fetch_release
from pinproof.patchset.patchfile import Patch

from tests.index_server import Index, index, sdist, wheel
from tests.trees import MODEL, model_file

__all__ = ["index"]

TOP = "vllm-1.0"
PLAIN = {f"{TOP}/PKG-INFO": b"Name: vllm\nVersion: 1.0\n", f"{TOP}/vllm/__init__.py": b"# here\n"}


def member(name: str, **fields: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info


def publish(index: Index, members: dict[str, bytes] | list[tuple[tarfile.TarInfo, bytes]]) -> None:
    index.add("vllm", f"{TOP}.tar.gz", sdist(members))


def with_hostile(*hostile: tuple[tarfile.TarInfo, bytes]) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [*((tarfile.TarInfo(name), content) for name, content in PLAIN.items()), *hostile]


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def left_beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "pinproof-cache")


def test_the_tree_is_a_clean_checkout_with_one_commit_the_same_every_time(
    index: Index, tmp_path: Path
) -> None:
    publish(index, PLAIN)
    trees = [fetch_release("vllm", "1.0", tmp_path / name) for name in ("a", "b")]
    assert [(tree.kind, tree.version) for tree in trees] == [("git", "1.0")] * 2
    commits = {git(tree.disk_root(), "rev-parse", "HEAD") for tree in trees}
    assert len(commits) == 1
    assert git(tmp_path / "a", "status", "--porcelain") == ""
    assert git(tmp_path / "a", "rev-list", "--count", "HEAD") == "1"


def test_the_tarballs_own_owner_and_special_bits_are_not_taken_over(index: Index, tmp_path: Path) -> None:
    odd = member(f"{TOP}/vllm/tool.sh", uid=4242, gid=4242, mode=0o6777)
    publish(index, with_hostile((odd, b"#!/bin/sh\n")))
    root = fetch_release("vllm", "1.0", tmp_path / "a").disk_root()
    status = (root / "vllm/tool.sh").stat()
    assert (status.st_uid, status.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH)) == (os.getuid(), 0)
    assert git(root, "ls-files", "-s", "vllm/tool.sh").startswith("100755")


def test_a_patch_can_be_taken_out(index: Index, tmp_path: Path, patch: Patch) -> None:
    publish(index, {**PLAIN, f"{TOP}/{MODEL}": model_file(patch, fixed=True)})
    root = fetch_release("vllm", "1.0", tmp_path / "a", [patch]).disk_root()
    assert (root / MODEL).read_bytes() == model_file(patch, fixed=False)
    assert git(root, "log", "-1", "--format=%s") == f"vllm 1.0, without {patch.name}"


def test_a_patch_that_is_not_in_it_is_a_conflict_and_leaves_nothing(
    index: Index, tmp_path: Path, patch: Patch
) -> None:
    publish(index, {**PLAIN, f"{TOP}/{MODEL}": model_file(patch, fixed=False)})
    with pytest.raises(Conflict, match="hunk 1"):
        fetch_release("vllm", "1.0", tmp_path / "a", [patch])
    assert left_beside(tmp_path) == []


@pytest.mark.parametrize(
    "hostile",
    [
        member("/etc/pinproof-was-here"),
        member("../pinproof-was-here"),
        member(f"{TOP}/../../pinproof-was-here"),
        member(f"{TOP}/link", type=tarfile.SYMTYPE, linkname="/etc"),
        member(f"{TOP}/link", type=tarfile.SYMTYPE, linkname="../../outside"),
        member(f"{TOP}/hard", type=tarfile.LNKTYPE, linkname="../../etc/passwd"),
        member(f"{TOP}/device", type=tarfile.CHRTYPE, devmajor=1, devminor=3),
        member(f"{TOP}/block", type=tarfile.BLKTYPE, devmajor=8, devminor=0),
        member(f"{TOP}/pipe", type=tarfile.FIFOTYPE),
    ],
    ids=["absolute", "up", "up-inside", "link-abs", "link-up", "hardlink-up", "char", "block", "fifo"],
)
def test_a_hostile_member_is_refused_and_nothing_is_left(
    index: Index, tmp_path: Path, hostile: tarfile.TarInfo
) -> None:
    publish(index, with_hostile((hostile, b"")))
    folder = tmp_path / "deep/er"
    folder.mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be unpacked"):
        fetch_release("vllm", "1.0", folder / "a")
    assert left_beside(folder) == []
    assert not Path("/etc/pinproof-was-here").exists()
    assert not list(tmp_path.rglob("pinproof-was-here"))


def test_a_link_then_a_file_through_it_cannot_leave(index: Index, tmp_path: Path) -> None:
    link = member(f"{TOP}/vllm/out", type=tarfile.SYMTYPE, linkname="../../../..")
    publish(index, with_hostile((link, b""), (member(f"{TOP}/vllm/out/escaped"), b"x")))
    with pytest.raises(InputError):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert not list(tmp_path.rglob("escaped"))


def test_a_git_folder_in_the_archive_does_not_become_the_repositorys_config(
    index: Index, tmp_path: Path
) -> None:
    config = b"[core]\n\tfsmonitor = touch /tmp/pinproof-fsmonitor-ran\n"
    publish(index, {**PLAIN, f"{TOP}/.git/config": config, f"{TOP}/.git/HEAD": b"ref: refs/heads/x\n"})
    root = fetch_release("vllm", "1.0", tmp_path / "a").disk_root()
    assert "fsmonitor" not in (root / ".git/config").read_text()


def test_a_huge_archive_is_refused_before_it_is_written(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_LARGEST", 1000)
    publish(index, {**PLAIN, f"{TOP}/big": b"\0" * 2000})
    with pytest.raises(InputError, match="unpacks to more than"):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []


def test_too_many_members_are_refused(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_MOST_MEMBERS", 1)
    publish(index, PLAIN)
    with pytest.raises(InputError, match="unpacks to more than"):
        fetch_release("vllm", "1.0", tmp_path / "a")


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\0garbage"])
def test_what_is_no_archive_is_one_line(index: Index, tmp_path: Path, content: bytes) -> None:
    index.add("vllm", f"{TOP}.tar.gz", content)
    with pytest.raises(InputError, match="cannot be unpacked"):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []


def test_an_archive_cut_short_before_it_was_published_is_one_line(index: Index, tmp_path: Path) -> None:
    whole = sdist({**PLAIN, f"{TOP}/big": os.urandom(100_000)})
    index.add("vllm", f"{TOP}.tar.gz", whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be unpacked"):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []


def test_two_top_folders_are_no_sdist(index: Index, tmp_path: Path) -> None:
    publish(index, {**PLAIN, "other/file": b""})
    with pytest.raises(InputError, match="2 top folders"):
        fetch_release("vllm", "1.0", tmp_path / "a")


def test_an_sdist_of_something_else_leaves_nothing(index: Index, tmp_path: Path) -> None:
    publish(index, {f"{TOP}/setup.py": b""})
    with pytest.raises(InputError, match="holds no vllm or sglang"):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []


def test_a_plugin_is_fetched_like_an_engine(index: Index, tmp_path: Path) -> None:
    files = {"p-1.0/pyproject.toml": b"[project]\nname = 'p'\n", "p-1.0/src/inside/__init__.py": b""}
    index.add("p", "p-1.0.tar.gz", sdist(files))
    tree = fetch_release("p", "1.0", tmp_path / "a")
    assert (tree.kind, tree.package, tree.root) == ("git", "inside", tmp_path / "a/src")


def test_a_release_without_an_sdist_is_unpacked_from_its_wheel(index: Index, tmp_path: Path) -> None:
    """vllm-omni and ray publish wheels only; openrlhf keeps its package in the wheel's data folder."""
    files = {
        "q/__init__.py": b"# here\n",
        "q-1.0.data/purelib/r/__init__.py": b"",
        "q-1.0.dist-info/METADATA": b"",
    }
    index.add("q", "q-1.0-py3-none-any.whl", wheel(files))
    tree = fetch_release("q", "1.0", tmp_path / "a")
    assert tree.packages == ("q", "r")
    assert (tmp_path / "a/q/__init__.py").read_bytes() == b"# here\n"


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "q/../../evil.py", ".git/hooks/pre-commit"])
def test_a_wheel_member_that_would_leave_the_folder_stops_everything(
    index: Index, tmp_path: Path, name: str
) -> None:
    index.add("q", "q-1.0-py3-none-any.whl", wheel({"q/__init__.py": b"", name: b"x"}))
    with pytest.raises(InputError, match="unsafe path"):
        fetch_release("q", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []


def test_a_damaged_wheel_leaves_nothing(index: Index, tmp_path: Path) -> None:
    index.add("q", "q-1.0-py3-none-any.whl", wheel({"q/__init__.py": b"1" * 999})[:-40])
    with pytest.raises(InputError, match="cannot be unpacked"):
        fetch_release("q", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []


def test_a_folder_with_something_in_it_is_refused_and_kept(index: Index, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mine").write_text("mine")
    with pytest.raises(Refused, match="not empty"):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert (tmp_path / "a/mine").read_text() == "mine"
    assert index.requests == []


def test_a_download_that_breaks_off_leaves_nothing_and_the_next_run_works(
    index: Index, tmp_path: Path
) -> None:
    publish(index, PLAIN)
    index.files["vllm"][f"{TOP}.tar.gz"].cut = 50
    with pytest.raises(CannotCheck, match="broke off"):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []
    index.files["vllm"][f"{TOP}.tar.gz"].cut = None
    assert fetch_release("vllm", "1.0", tmp_path / "a").version == "1.0"


def test_an_interrupt_while_unpacking_leaves_nothing(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(index, PLAIN)

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "commit_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []


def test_a_cached_sdist_needs_no_network(index: Index, tmp_path: Path) -> None:
    publish(index, PLAIN)
    fetch_release("vllm", "1.0", tmp_path / "a")
    index.down = True
    assert fetch_release("vllm", "1.0", tmp_path / "b").version == "1.0"


def test_with_the_network_down_and_a_cold_cache_it_cannot_check(index: Index, tmp_path: Path) -> None:
    index.down = True
    with pytest.raises(CannotCheck, match="package index"):
        fetch_release("vllm", "1.0", tmp_path / "a")
    assert left_beside(tmp_path) == []
