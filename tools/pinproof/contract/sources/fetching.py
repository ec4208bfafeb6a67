"""Take a library's signatures from a folder, a snapshot, a release, a commit, or a copy in a tree."""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
import textwrap
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import msgspec

from pinproof.contract.declared import snapshot as snapshots
from pinproof.contract.declared.snapshot import Snapshot
from pinproof.contract.sources import memory
from pinproof.contract.sources.archive import WheelArchive
from pinproof.contract.watch.watchlist import Watched
from pinproof.errors import CannotCheck, InputError, PinproofError
from pinproof.paths import atomic_write
from pinproof.pins import Pin
from pinproof.tree import DiskFiles, Files, Tree

COMMIT = re.compile(r"[0-9a-f]{7,40}")
# Where libraries that engines pin by commit are kept. A tree is not trusted: a pin that names another
# host does not make us talk to it (docs/security.md); the user's own git+URL@COMMIT may name any.
_HOSTS = frozenset({"github.com"})
_FETCH_S = 120.0


def hint(watched: Watched) -> str:
    return (
        f"--library {watched.name}=PATH (a clone or package folder), {watched.name}=VERSION or "
        f"{watched.name}=git+URL@COMMIT; or `pinproof snapshot {watched.name} ...`"
    )


def vendored_copy(watched: Watched, tree: Tree) -> Snapshot | None:
    """The signatures of the copy of a library that a tree holds, None when it holds none."""
    for name, place in watched.vendored.items():
        path = place.replace(".", "/")
        if tree.read(f"{path}/__init__.py") is not None:
            version = stated_version(tree, path) or tree.version or "of the tree"
            return snapshots.take(
                tree.files, {name: path}, library=watched.name, version=version,
                source=f"vendored copy {path}", strip=path.rpartition("/")[0] + "/",
            )  # fmt: skip
    return None


def from_vendored(watched: Watched, release: str) -> Snapshot:
    """The signatures of the copy inside a release on the package index, e.g. `vllm==0.28.0`.

    Raises:
        InputError: there is no such release, or no copy in it.
        CannotCheck: the index cannot be reached.
    """
    from pinproof.releases import parse_release, release_tree

    tree = release_tree(*parse_release(release))
    found = vendored_copy(watched, tree)
    if found is None:
        raise InputError(f"{tree.name} holds no copy of {watched.name}")
    return msgspec.structs.replace(found, source=f"{found.source} in {tree.name}")


def stated_version(tree: Tree, path: str) -> str | None:
    for name in ("__init__.py", "version.py", "_version.py", "_build_meta.py"):
        match = re.search(
            rb"""^__version__\s*(?::\s*str\s*)?=\s*["']([^"'\n]{1,60})["']""",
            tree.read(f"{path}/{name}") or b"",
            re.M,
        )
        if match:
            return match[1].decode(errors="replace")
    return None


def from_spec(watched: Watched, spec: str) -> Snapshot:
    """The signatures that a user's SPEC names: a version, a folder, a wheel, a snapshot file,
    `git+URL@COMMIT`, or the release of an engine that vendors it (`vllm==0.28.0`).

    Raises:
        InputError: it is none of these, or there is no such library there.
        CannotCheck: it cannot be fetched.
    """
    if re.fullmatch(r"[A-Za-z0-9._-]+==\S+", spec) and spec.split("==")[0] not in watched.pinned_as:
        return from_vendored(watched, spec)
    if spec.startswith("git+"):
        url, _, commit = spec.removeprefix("git+").rpartition("@")
        return from_commit(watched, commit, url)
    path = Path(spec)
    if path.is_dir():
        return from_folder(watched, path)
    if path.is_file():
        return from_file(watched, path)
    if COMMIT.fullmatch(spec) and not spec.isdigit():
        return from_commit(watched, spec, watched.repository)
    return from_release(watched, watched.distributions or (watched.name,), spec.removeprefix("=="))


def from_folder(watched: Watched, path: Path) -> Snapshot:
    """The signatures in a clone, a package folder or a site-packages folder.

    Raises:
        InputError: it holds no package of the library.
    """
    names = {*watched.imports, *watched.vendored}
    for name in watched.imports:
        for root in (path, path / "src", path / "python", path / name):
            if (root / name / "__init__.py").is_file():
                files = DiskFiles(root)
                roots = {n: n for n in names if (root / n).is_dir()}
                return snapshots.take(
                    files, roots, library=watched.name, version=str(path), source=str(path),
                    native=DiskFiles(path),
                )  # fmt: skip
        if (path / "__init__.py").is_file():
            files = DiskFiles(path.parent)
            return snapshots.take(
                files, {name: path.name}, library=watched.name, version=str(path), source=str(path),
                native=files,
            )  # fmt: skip
    raise InputError(
        f"{path} holds no {watched.imports[0]} package", hint="give a clone or the package folder"
    )


def from_file(watched: Watched, path: Path) -> Snapshot:
    """The signatures in a wheel or a snapshot file.

    Raises:
        InputError: it is neither, or of another library.
    """
    if path.suffix == ".whl":
        roots = {name: name for name in watched.imports}
        version = path.name.split("-")[1] if path.name.count("-") >= 4 else path.name
        found = snapshots.take(
            WheelArchive(path), roots, library=watched.name, version=version, source=path.name
        )
        if not found.modules:
            raise InputError(f"{path} holds no {', '.join(watched.imports)}")
        return found
    try:
        found = snapshots.decode(path.read_bytes())
        for module in found.modules.values():  # read one by one later, when it is too late to complain
            snapshots.decode_module(module)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not a snapshot: {error}", hint="pinproof snapshot makes one") from error
    if found.library != watched.name:
        raise InputError(f"{path} is a snapshot of {found.library}, not of {watched.name}")
    return found


def shipped(library: str, version: str) -> Snapshot | None:
    """The snapshot of a library that comes with pinproof; `version` may be the start of a commit."""
    folder = resources.files("pinproof.contract.sources").joinpath("snapshots")
    for entry in folder.iterdir() if folder.is_dir() else ():
        name = entry.name.removesuffix(".json")
        if name.startswith(f"{library}-{version}"):
            return snapshots.decode(entry.read_bytes())
    return None


def _refuse_other_hosts(pin: Pin) -> None:
    """Raise CannotCheck when a pin names a host that we do not contact because a tree says so."""
    from urllib.parse import urlsplit

    host = urlsplit(pin.repo or "https://github.com").hostname
    if host not in _HOSTS:
        raise CannotCheck(
            f"{pin.file}:{pin.line} pins {pin.library} at {host or pin.repo!r}; no tree chooses whom we ask",
            hint=f"if you trust it: --library {pin.library}=git+{pin.repo}@{pin.spec}",
        )


def from_commit(watched: Watched, commit: str, url: str | None, *, pin: Pin | None = None) -> Snapshot:
    """The signatures at one commit: shipped, cached, or fetched with git; `pin` is the tree's that asks.

    Raises:
        CannotCheck: it is neither known nor can it be fetched.
    """
    found = shipped(watched.name, commit)
    if found is not None:
        return msgspec.structs.replace(found, source=f"snapshot of {found.version[:8]} ({found.source})")
    cached = memory.signature_file(watched.name, _cache_key(commit, url))
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return snapshots.decode(cached.read_bytes())
    if pin is not None:
        _refuse_other_hosts(pin)
    memory.refuse_again(cached.name)
    try:
        found = _fetched(watched, commit, url or watched.repository)
    except CannotCheck as error:
        memory.remember_refusal(cached.name, error)
        raise
    atomic_write(cached, snapshots.encode(found))
    return found


def _cache_key(commit: str, url: str | None) -> str:
    """A full commit is the same everywhere; a branch, a tag or a short one only in its own repository."""
    if re.fullmatch(r"[0-9a-f]{40}", commit) or not url:
        return commit
    return f"{commit}-{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def _fetched(watched: Watched, commit: str, url: str | None) -> Snapshot:
    from pinproof.git import git

    cannot = f"{watched.name} at {commit[:12]} is not among the shipped snapshots"
    if (
        not url
        or not url.startswith("https://")
        or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,80}", commit)
    ):
        raise CannotCheck(cannot, hint=hint(watched))
    with tempfile.TemporaryDirectory(prefix="pinproof-") as folder:
        root = Path(folder)
        try:
            git(["init", "-q", "."], cwd=root)
            fetch = ["fetch", "-q", "--depth=1", "--", url, commit]
            git(fetch, cwd=root, transport="https", timeout_s=_FETCH_S)
            git(["-c", "core.symlinks=false", "checkout", "-q", "FETCH_HEAD"], cwd=root)
        except InputError as error:
            reason = error.message.strip().splitlines()[-1].rpartition("fatal: ")[2]
            reason = textwrap.shorten(reason, 160, placeholder=" ...")
            raise CannotCheck(f"{cannot}, and git cannot fetch it ({reason})", hint=hint(watched)) from error
        found = from_folder(watched, root)
    return msgspec.structs.replace(found, version=commit, source=f"{url} at {commit[:12]}")


def from_index(watched: Watched, pin: Pin) -> Snapshot:
    """The signatures of the release a pin asks for; an open range is taken at its newest.

    Raises:
        InputError: no release fits.
        CannotCheck: the package index cannot be reached.
    """
    version = pin.spec
    if not pin.exact:
        version = newest(pin.library, pin.spec)
    found = from_release(watched, (pin.library,), version.removeprefix("v"))
    if not pin.exact:
        return msgspec.structs.replace(found, source=f"{found.source}, the newest that {pin.spec} allows")
    return found


def newest(project: str, specifier: str) -> str:
    """The newest release that a specifier allows: a final one, unless only pre-releases fit (PEP 440).

    Raises:
        InputError: none does.
    """
    return memory.recall(f"newest {project} {specifier}", lambda: _newest(project, specifier))


def _newest(project: str, specifier: str) -> str:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    from pinproof.releases import versions

    try:
        allowed = SpecifierSet("" if specifier == "any" else specifier)
    except InvalidSpecifier as error:
        raise InputError(f"{project} is pinned as {specifier!r}, which is not a version") from error
    fitting = [version for version in versions(project) if version in allowed]
    if not fitting:
        fitting = list(allowed.filter(versions(project, prereleases=True), prereleases=True))
    if not fitting:
        raise InputError(f"no release of {project} fits {specifier}")
    return fitting[-1]


def from_release(watched: Watched, projects: Iterable[str], version: str) -> Snapshot:
    """The signatures of a release on the package index, from the cache when it was read before.

    Raises:
        InputError: there is no such release.
        CannotCheck: it has no wheel, or the index cannot be reached.
    """
    failure: PinproofError | None = None
    for project in projects:
        cached = memory.signature_file(project, version)
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return snapshots.decode(cached.read_bytes())
        try:
            found = _read_release(watched, project, version)
        except PinproofError as error:
            failure = failure or error
            continue
        atomic_write(cached, snapshots.encode(found))
        return found
    raise failure or CannotCheck(f"{watched.name} is not on the package index", hint=hint(watched))


def _read_release(watched: Watched, project: str, version: str) -> Snapshot:
    from pinproof.contract.sources.archive import SourceArchive
    from pinproof.releases import download_sdist, pick
    from pinproof.wheelfiles import WheelFiles

    try:
        files: Files = WheelFiles(pick(project, version, "wheel"))
    except InputError as error:
        if "no wheel" not in error.message:
            raise
        files = SourceArchive(download_sdist(project, version))
    roots = {name: name for name in watched.imports}
    found = snapshots.take(
        files,
        roots,
        library=watched.name,
        version=version,
        source=f"{project} {version} from the package index",
    )
    if not found.modules:
        raise InputError(f"{project} {version} holds no {', '.join(watched.imports)}")
    return found
