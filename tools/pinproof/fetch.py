"""A release from PyPI as a git repository with one commit, with named patches taken back out."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from pinproof.errors import InputError, Refused
from pinproof.git import git
from pinproof.opening import open_any
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import Patch
from pinproof.progress import progress
from pinproof.releases import download, pick
from pinproof.tree import Tree, check_relative

# vLLM 0.33.0 unpacks to 130 MB in 6,500 files; ten times that is not an sdist of it.
_LARGEST = 2 << 30
_MOST_MEMBERS = 100_000
_IDENTITY = {
    "GIT_AUTHOR_NAME": "pinproof", "GIT_AUTHOR_EMAIL": "fetch@pinproof.invalid",
    "GIT_COMMITTER_NAME": "pinproof", "GIT_COMMITTER_EMAIL": "fetch@pinproof.invalid",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00+0000", "GIT_COMMITTER_DATE": "2000-01-01T00:00:00+0000",
}  # fmt: skip

# Nothing that a person or a machine has set may change the commit: which files are left out, line ends,
# attributes, message clean-up, the kind of hash.
_NOBODYS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "0", "GIT_CONFIG_PARAMETERS": ""}  # fmt: skip
_SAME_EVERYWHERE = ("-c", f"core.excludesFile={os.devnull}", "-c", f"core.attributesFile={os.devnull}",
                    "-c", "core.autocrlf=false")  # fmt: skip


def fetch_release(project: str, version: str, target: Path, without: Sequence[Patch] = ()) -> Tree:
    """Bring a release's source to `target`.

    Everything is made beside `target` and renamed at the end, so an interrupted run leaves nothing.

    Args:
        project: the name on PyPI.
        version: the release.
        target: a folder that does not exist yet, or is empty.
        without: patches that the release contains and the tree shall not; undone in reverse order.

    Returns:
        The tree: a git checkout, one commit, the same commit id on every machine.

    Raises:
        Refused: `target` is there and not empty.
        InputError: no such release, a hostile archive, or a patch that is not in it.
        CannotCheck: the network fails.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Refused(f"{target} exists and is not empty", hint="give a new folder")
    archive = _archive(project, version)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as scratch:
        unpack = unpack_wheel if archive.suffix == ".whl" else unpack_sdist
        kind = "wheel" if archive.suffix == ".whl" else "sdist"
        root = unpack(archive, Path(scratch), f"the {kind} of {project} {version}")
        open_any(root)
        take_out(root, without)
        commit_all(root, f"{project} {version}" + "".join(f", without {p.name}" for p in without))
        if target.exists():
            target.rmdir()
        root.rename(target)
    return open_any(target)


def _archive(project: str, version: str) -> Path:
    """The release's source; its wheel where it has none (vllm-omni, ray)."""
    try:
        return download(pick(project, version, "sdist"))
    except InputError as error:
        if "no sdist" not in error.message:
            raise
    return download(pick(project, version, "wheel"))


def unpack_wheel(archive: Path, into: Path, name: str) -> Path:
    """Unpack a wheel as an installer would lay it out; nothing is written outside `into`.

    Raises:
        InputError: it is damaged, too large, or has a member that would leave the folder.
    """
    root = into / "wheel"
    try:
        with zipfile.ZipFile(archive) as wheel:
            infos = [info for info in wheel.infolist() if not info.is_dir()]
            size = sum(info.file_size for info in infos)
            if size > _LARGEST or len(infos) > _MOST_MEMBERS:
                raise InputError(f"{name} unpacks to more than {_LARGEST >> 30} GiB or {_MOST_MEMBERS} files")
            with progress(f"unpacking {name}", len(infos)) as bar:
                for info in infos:
                    path = root / _installed(check_relative(info.filename))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(wheel.read(info))
                    bar.advance()
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{name} cannot be unpacked: {error}") from error
    return root


def _installed(path: str) -> str:
    """Where an installer puts a member: what lies in NAME.data/purelib or platlib goes to the top."""
    return re.sub(r"^[^/]+\.data/(?:purelib|platlib)/", "", path)


def unpack_sdist(archive: Path, into: Path, name: str) -> Path:
    """Unpack an sdist; nothing is written outside `into`, and every file belongs to the caller.

    Args:
        archive: the .tar.gz.
        into: an empty folder.
        name: what to call it in messages.

    Returns:
        The one folder an sdist holds.

    Raises:
        InputError: the archive is damaged, too large, or has a member that would leave the folder.
    """
    if not hasattr(tarfile, "data_filter"):
        raise InputError(
            "this Python unpacks archives unsafely (PEP 706)", hint="use Python 3.10.12 or newer"
        )
    try:
        with tarfile.open(archive) as tar:
            members = _checked(tar, name)
            with progress(f"unpacking {name}", len(members)) as bar:
                for member in members:
                    tar.extract(member, into, filter="data")
                    bar.advance()
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None and not isinstance(error, tarfile.TarError):
            raise  # a full disk or missing permission is no fault of the archive
        raise InputError(f"{name} cannot be unpacked: {error}") from error
    folders = [path for path in into.iterdir() if path.is_dir()]
    if len(folders) != 1:
        raise InputError(f"{name} is malformed: it holds {len(folders)} top folders")
    return folders[0]


def _checked(tar: tarfile.TarFile, name: str) -> list[tarfile.TarInfo]:
    members: list[tarfile.TarInfo] = []
    size = 0
    for member in tar:
        if member.name.startswith("/"):  # the data filter would strip the slash and go on
            raise InputError(f"{name} cannot be unpacked: {member.name!r} is an absolute path")
        size += member.size
        members.append(member)
        if size > _LARGEST or len(members) > _MOST_MEMBERS:
            raise InputError(f"{name} unpacks to more than {_LARGEST >> 30} GiB or {_MOST_MEMBERS} files")
    return members


def take_out(root: Path, patches: Sequence[Patch]) -> None:
    """Undo `patches` in the files below `root`.

    Raises:
        Conflict: the tree does not hold the change.
    """
    for patch in reversed(patches):
        for diff in patch.diffs:
            path = root / diff.path
            content = apply_diff(path.read_bytes() if path.is_file() else None, diff, reverse=True)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content)


def commit_all(root: Path, message: str) -> None:
    """Make `root` a git repository with one commit of everything its .gitignore does not leave out."""
    shutil.rmtree(root / ".git", ignore_errors=True)  # an sdist has none; a hostile one brings its config
    git(
        ["init", "-q", "--initial-branch=main", "--template=", "--object-format=sha1"], cwd=root, env=_NOBODYS
    )
    git([*_SAME_EVERYWHERE, "add", "-A"], cwd=root, env=_NOBODYS)
    git([*_SAME_EVERYWHERE, "commit", "-q", "--no-verify", "-m", message], cwd=root, env=_IDENTITY | _NOBODYS)
