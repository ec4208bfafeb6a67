"""Releases on PyPI: which exist, a release's wheel as a tree, whole sdists."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pinproof import layout
from pinproof.errors import CannotCheck, InputError
from pinproof.index.trouble import TIMEOUT_S, trouble
from pinproof.paths import atomic_write, cache_dir
from pinproof.progress import progress
from pinproof.sdistfiles import SdistFiles
from pinproof.tree import BelowFiles, Files, Tree
from pinproof.wheelfiles import WheelFiles

if TYPE_CHECKING:
    from packaging.version import Version
    from pypi_simple import DistributionPackage

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+]*")
# A new release inside a range is rare (a bugfix of an older line); asking again costs a second.
_RANGE_FRESH_S = 3600.0
# Where the index gives no size: ten times the sdist of vLLM 0.33.0.
_LARGEST_SDIST = 400 << 20


@lru_cache(maxsize=32)
def distributions(project: str) -> tuple[DistributionPackage, ...]:
    """Every file of a project on the package index that pip and uv are told to use, yanked ones left out.

    Raises:
        InputError: the index knows no such project.
        CannotCheck: the index cannot be reached.
    """
    from pinproof.index.pages import files_of

    if not _NAME.fullmatch(project):
        raise InputError(f"{project!r} is not a package name")
    return tuple(package for package in files_of(project) if not package.is_yanked)


def versions(project: str, *, prereleases: bool = False) -> list[str]:
    """The project's releases, oldest first: the final ones, or those before a final one too."""
    from packaging.version import InvalidVersion, Version

    found = set()
    for package in distributions(project):
        try:
            version = Version(package.version or "")
        except InvalidVersion:
            continue
        if prereleases or not version.is_prerelease:
            found.add(version)
    return [str(version) for version in sorted(found)]


def versions_between(project: str, first: str, last: str) -> list[str]:
    """The final releases from `first` to `last`, both included.

    The answer is kept for an hour, and for as long as there is no network.

    Raises:
        InputError: there is none, or an end of the range is not a version.
        CannotCheck: the index cannot be reached and the range was never asked for before.
    """
    remembered = _memory(project) / f"{first}..{last}.json"
    before = _recall(remembered)
    if before is not None and 0 <= time.time() - remembered.stat().st_mtime < _RANGE_FRESH_S:
        return before
    from packaging.version import Version

    start, end = _version(first), _version(last)
    try:
        known = versions(project)
    except CannotCheck:
        if before is None:
            raise
        return before
    found = [text for text in known if start <= Version(text) <= end]
    if not found:
        raise InputError(f"{project} has no release from {first} to {last}")
    atomic_write(remembered, msgspec.json.encode(found))
    return found


def _memory(project: str) -> Path:
    """Where answers about a project are kept: one folder for PyPI, another for each other set of places."""
    from pinproof.index.settings import settings

    fingerprint = settings().fingerprint()
    return cache_dir("index", project, *([f"at-{fingerprint}"] if fingerprint else []))


def _recall(path: Path) -> list[str] | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[str])
    except (FileNotFoundError, msgspec.DecodeError):
        return None


class Distribution(msgspec.Struct, frozen=True):
    """One file of a release: where it is and what its bytes must hash to."""

    filename: str
    version: str
    url: str
    sha256: str
    size: int | None = None
    metadata_sha256: str | None = None
    """What METADATA must hash to, where the index says (PEP 658, PEP 714)."""


def pick(project: str, version: str, kind: str) -> Distribution:
    """One file of a release: its "sdist", or its "wheel" (x86-64 Linux first, else any).

    A release's files never change on the index, so the answer is kept on disk.

    Raises:
        InputError: the release does not exist, or has no such file.
        CannotCheck: the index cannot be reached, or gives no digest.
    """
    if not _NAME.fullmatch(project) or not _VERSION.fullmatch(version):
        raise InputError(f"{project}=={version} is not a release")
    remembered = _memory(project) / f"{version}.{kind}.json"
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
        return msgspec.json.decode(remembered.read_bytes(), type=Distribution)
    found = _pick_from_index(project, version, kind)
    atomic_write(remembered, msgspec.json.encode(found))
    return found


def _version(text: str) -> Version:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion as error:
        raise InputError(f"{text!r} is not a version") from error


def _pick_from_index(project: str, version: str, kind: str) -> Distribution:
    wanted = _version(version)
    mine = [p for p in distributions(project) if p.version and _same_version(p.version, wanted)]
    if not mine:
        near = ", ".join(versions(project)[-4:])
        raise InputError(
            f"{project} has no release {version}", hint=f"the newest are {near}" if near else None
        )
    fitting = [p for p in mine if p.package_type == kind]
    if not fitting:
        raise InputError(f"{project} {version} has no {kind} on the package index")
    best = min(fitting, key=lambda p: ("x86_64" not in p.filename, "any" not in p.filename, p.filename))
    digest = (best.digests or {}).get("sha256") or _own_digest(best.url)
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise CannotCheck(f"the package index gives no sha256 for {best.filename}")
    metadata = (best.metadata_digests or {}).get("sha256")
    return Distribution(best.filename, best.version or version, best.url, digest, best.size, metadata)


def _own_digest(url: str) -> str:
    """The sha256 of a local file (find-links, a file: index); empty for any other."""
    from pinproof.index.session import local_path

    if not url.startswith("file:"):
        return ""
    seen = hashlib.sha256()
    with local_path(url).open("rb") as stream:
        while chunk := stream.read(1 << 20):
            seen.update(chunk)
    return seen.hexdigest()


def _same_version(text: str, wanted: Version) -> bool:
    try:
        return _version(text) == wanted
    except InputError:
        return False


def release_tree(project: str, version: str) -> Tree:
    """A release as a tree: of its wheel only the files that are read are downloaded; else its sdist.

    Raises:
        InputError: no such release.
        CannotCheck: the package index cannot be reached.
    """
    try:
        found = pick(project, version, "wheel")
        whole: Files = WheelFiles(found)
    except InputError as error:
        if "no wheel" not in error.message:
            raise
        found = pick(project, version, "sdist")
        whole = SdistFiles(download_sdist(project, version))
    name = re.sub(r"[-.]+", "_", project)
    inside = layout.find(whole.paths("", ".py"), name)
    files = BelowFiles(whole, inside.folder) if inside.folder else whole
    return Tree(
        "release", f"{project}=={version}", files, None, name, found.version, inside.packages, project=whole
    )


def parse_release(spec: str, *, default_project: str = "vllm") -> tuple[str, str]:
    """`vllm==0.28.0` or `0.28.0` as (project, version).

    Raises:
        InputError: it is neither.
    """
    project, _, version = spec.rpartition("==")
    project = project or default_project
    if not _NAME.fullmatch(project) or not _VERSION.fullmatch(version.removeprefix("v")):
        raise InputError(f"{spec!r} is not a release", hint="write vllm==0.28.0 or 0.28.0")
    return project, version.removeprefix("v")


def download_sdist(project: str, version: str) -> Path:
    """The release's sdist in the cache, downloaded with a progress bar, sha256 verified.

    Raises:
        InputError: no such release, or it has no sdist.
        CannotCheck: the network fails; nothing half-downloaded is ever used.
    """
    return download(pick(project, version, "sdist"))


def download(wanted: Distribution) -> Path:
    """One file of a release in the cache, downloaded with a progress bar, sha256 verified.

    Raises:
        InputError: it is not what the index says.
        CannotCheck: the network fails; nothing half-downloaded is ever used.
    """
    import requests

    from pinproof.index.bounds import deadline, time_for
    from pinproof.index.session import IndexSession

    suffix = ".whl" if wanted.filename.endswith(".whl") else ".tar.gz"
    target = cache_dir("sdists") / f"{wanted.sha256}{suffix}"
    if target.exists():
        return target
    largest = wanted.size or _LARGEST_SDIST
    seen = hashlib.sha256()
    chunks: list[bytes] = []
    try:
        with (
            IndexSession() as session,
            session.get(wanted.url, stream=True, timeout=TIMEOUT_S) as reply,
            progress(f"downloading {wanted.filename}", wanted.size, unit="bytes") as bar,
        ):
            reply.raise_for_status()
            read = 0
            with deadline(time_for(largest), wanted.filename):
                for chunk in reply.iter_content(1 << 18):
                    seen.update(chunk)
                    chunks.append(chunk)
                    bar.advance(len(chunk))
                    read += len(chunk)
                    if read > largest:
                        raise InputError(f"{wanted.filename} is larger than the index says: not used")
    except requests.RequestException as error:
        raise trouble(
            wanted.filename, error, account="broke off while downloading", hint="run the same command again"
        ) from error
    if seen.hexdigest() != wanted.sha256:
        raise InputError(
            f"{wanted.filename} has sha256 {seen.hexdigest()}, the index says {wanted.sha256}: not used"
        )
    atomic_write(target, b"".join(chunks))
    return target
