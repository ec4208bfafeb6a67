"""Where a library's signatures come from: what the user names, what the tree holds, what it pins."""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

import msgspec

from pinproof.contract import memory
from pinproof.contract import snapshot as snapshots
from pinproof.contract.library import Library
from pinproof.contract.model import LibraryUsed, Unchecked
from pinproof.contract.snapshot import Snapshot
from pinproof.contract.watchlist import Watched
from pinproof.errors import CannotCheck, InputError, PinproofError
from pinproof.paths import atomic_write
from pinproof.pins import Pin, find_pin, read_pins
from pinproof.tree import DiskFiles, Files, Tree

_COMMIT = re.compile(r"[0-9a-f]{7,40}")
# Where libraries that engines pin by commit are kept. A tree is not trusted: a pin that names another
# host does not make us talk to it (docs/security.md); the user's own git+URL@COMMIT may name any.
_HOSTS = frozenset({"github.com"})
_FETCH_S = 120.0


class Libraries:
    """The signatures of the watched libraries for one tree; each is looked for when it is first called.

    Args:
        tree: the tree; its vendored copies and pins decide.
        overrides: library name to SPEC (see from_spec): decides over both.
        watch: the watch list.
    """

    def __init__(self, tree: Tree, overrides: Mapping[str, str], watch: tuple[Watched, ...] = ()) -> None:
        self._tree = tree
        self.watch = watch
        self._overrides = overrides
        self._pins: list[Pin] | None = None
        self._found: dict[str, Library | None] = {}
        self.used: dict[str, LibraryUsed] = {}
        self.unchecked: dict[str, Unchecked] = {}

    def __call__(self, watched: Watched) -> Library | None:
        """The library's signatures, None when they cannot be had (`unchecked` says why)."""
        if watched.name not in self._found:
            try:
                self._found[watched.name] = self._find(watched)
            except PinproofError as error:
                self._found[watched.name] = None
                hint = error.hint or _hint(watched)
                self.unchecked[watched.name] = Unchecked(
                    library=watched.name,
                    reason=error.message,
                    hint=hint,
                    pinned=self.pin(watched) is not None or watched.name in self._overrides,
                )
        return self._found[watched.name]

    def adopt(self, used: Mapping[str, LibraryUsed], unchecked: Mapping[str, Unchecked]) -> None:
        """Take over what another process or run has found about where signatures come from."""
        self.used = {**used, **self.used}
        self.unchecked = {**unchecked, **self.unchecked}

    def basis(self) -> str:
        """What decides where signatures come from: the pins, the overrides and what they name, the watch list."""
        named = [(n, s, _state_of(s)) for n, s in sorted(self._overrides.items())]
        return repr([self.pins, named, self.watch])

    @property
    def pins(self) -> list[Pin]:
        """Every pin of the tree."""
        if self._pins is None:
            self._pins = read_pins(self._tree)
        return self._pins

    def pin(self, watched: Watched) -> Pin | None:
        """The pin that decides for a library."""
        # One library alone (a verdict) needs few of the lines; once all are read, they serve all.
        pins = self._pins if self._pins is not None else read_pins(self._tree, only=watched.pinned_as)
        mine = [pin for name in watched.pinned_as for pin in [find_pin(pins, name)] if pin is not None]
        return next((pin for pin in mine if pin.exact), mine[0] if mine else None)

    def _find(self, watched: Watched) -> Library:
        override = self._overrides.get(watched.name)
        if override is not None:
            return self._use(watched, from_spec(watched, override), "given as --library")
        external, vendored = self._external(watched), vendored_copy(watched, self._tree)
        if external is not None and (vendored is None or watched.prefer == "external"):
            note = _differ(external, vendored) if vendored is not None else None
            return self._use(watched, external, external.source, note=note)
        if vendored is not None:
            return self._use(watched, vendored, vendored.source, incomplete=self._incomplete(watched))
        return self._pinned(watched)

    def _pinned(self, watched: Watched) -> Library:
        pin = self.pin(watched)
        if pin is None:
            raise CannotCheck(
                f"{self._tree.name} neither vendors nor pins {watched.name}", hint=_hint(watched)
            )
        if pin.repo is not None or _COMMIT.fullmatch(pin.spec):
            found = from_commit(watched, pin.spec, pin.repo, pin=pin)
        else:
            found = from_index(watched, pin)
        return self._use(watched, found, found.source)

    def _incomplete(self, watched: Watched) -> str | None:
        """Why a vendored copy may lack files: a build completes it from the commit that is pinned."""
        pin = self.pin(watched)
        if self._tree.kind in ("git", "plain") and pin is not None and pin.repo is not None:
            return f"a build completes the copy of {watched.name} ({pin.file}:{pin.line})"
        return None

    def _use(
        self,
        watched: Watched,
        found: Snapshot,
        source: str,
        *,
        note: str | None = None,
        incomplete: str | None = None,
    ) -> Library:
        self.used[watched.name] = LibraryUsed(
            library=watched.name, version=found.version, source=source, pin=self.pin(watched), note=note
        )
        return Library(found, f"{watched.name} {found.version[:12]}", incomplete=incomplete)

    def _external(self, watched: Watched) -> Snapshot | None:
        """An installed package beside the tree's own: only in a site-packages folder."""
        if self._tree.kind not in ("installed", "plain") or self._tree.root is None:
            return None
        name = watched.imports[0]
        if self._tree.read(f"{name}/__init__.py") is None:
            return None
        version = _stated_version(self._tree, name) or "installed"
        return snapshots.take(
            self._tree.files, {i: i for i in watched.imports}, library=watched.name, version=version,
            source=f"external {name} {version} in site-packages",
        )  # fmt: skip


def _state_of(spec: str) -> object:
    """What tells whether the folder or file a SPEC names has changed."""
    path = Path(spec)
    if path.is_dir():
        return [
            (p.as_posix(), s.st_size, s.st_mtime_ns) for p in sorted(path.rglob("*.py")) for s in (p.stat(),)
        ]
    return path.stat().st_mtime_ns if path.is_file() else None


def vendored_copy(watched: Watched, tree: Tree) -> Snapshot | None:
    """The signatures of the copy of a library that a tree holds, None when it holds none."""
    for name, place in watched.vendored.items():
        path = place.replace(".", "/")
        if tree.read(f"{path}/__init__.py") is not None:
            version = _stated_version(tree, path) or tree.version or "of the tree"
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


def _stated_version(tree: Tree, path: str) -> str | None:
    for name in ("__init__.py", "version.py", "_version.py", "_build_meta.py"):
        match = re.search(
            rb"""^__version__\s*(?::\s*str\s*)?=\s*["']([^"'\n]{1,60})["']""",
            tree.read(f"{path}/{name}") or b"",
            re.M,
        )
        if match:
            return match[1].decode(errors="replace")
    return None


def _differ(external: Snapshot, vendored: Snapshot) -> str | None:
    same = {name: bytes(raw) for name, raw in external.modules.items()}
    other = {name: bytes(raw) for name, raw in vendored.modules.items()}
    if same.keys() == other.keys() and all(same[n] == other[n] for n in same):
        return None
    return f"{external.source} wins over the {vendored.source} ({vendored.version}), and they differ"


def _hint(watched: Watched) -> str:
    return (
        f"--library {watched.name}=PATH (a clone or package folder), {watched.name}=VERSION or "
        f"{watched.name}=git+URL@COMMIT; or `pinproof snapshot {watched.name} ...`"
    )


def from_spec(watched: Watched, spec: str) -> Snapshot:
    """The signatures that a user's SPEC names: a version, a folder, a snapshot file, `git+URL@COMMIT`,
    or the release of an engine that vendors it (`vllm==0.28.0`).

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
    if _COMMIT.fullmatch(spec) and not spec.isdigit():
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
                return snapshots.take(files, roots, library=watched.name, version=str(path), source=str(path))
        if (path / "__init__.py").is_file():
            files = DiskFiles(path.parent)
            return snapshots.take(
                files, {name: path.name}, library=watched.name, version=str(path), source=str(path)
            )
    raise InputError(
        f"{path} holds no {watched.imports[0]} package", hint="give a clone or the package folder"
    )


def from_file(watched: Watched, path: Path) -> Snapshot:
    """The signatures in a snapshot file.

    Raises:
        InputError: it is no snapshot of this library.
    """
    try:
        found = snapshots.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is no snapshot: {error}", hint="pinproof snapshot makes one") from error
    if found.library != watched.name:
        raise InputError(f"{path} is a snapshot of {found.library}, not of {watched.name}")
    return found


def shipped(library: str, version: str) -> Snapshot | None:
    """The snapshot of a library that comes with pinproof; `version` may be the start of a commit."""
    folder = resources.files("pinproof.contract").joinpath("snapshots")
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
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
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
        raise CannotCheck(cannot, hint=_hint(watched))
    with tempfile.TemporaryDirectory(prefix="pinproof-") as folder:
        root = Path(folder)
        try:
            git(["init", "-q", "."], cwd=root)
            fetch = ["fetch", "-q", "--depth=1", "--", url, commit]
            git(fetch, cwd=root, transport="https", timeout_s=_FETCH_S)
            git(["-c", "core.symlinks=false", "checkout", "-q", "FETCH_HEAD"], cwd=root)
        except InputError as error:
            reason = error.message.strip().splitlines()[-1]
            raise CannotCheck(
                f"{cannot}, and git cannot fetch it ({reason[:120]})", hint=_hint(watched)
            ) from error
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
    """The newest final release that a specifier allows.

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
        raise InputError(f"{project} is pinned as {specifier!r}, which is no version") from error
    fitting = [version for version in versions(project) if version in allowed]
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
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
            return snapshots.decode(cached.read_bytes())
        try:
            found = _read_release(watched, project, version)
        except PinproofError as error:
            failure = failure or error
            continue
        atomic_write(cached, snapshots.encode(found))
        return found
    raise failure or CannotCheck(f"{watched.name} is not on the package index", hint=_hint(watched))


def _read_release(watched: Watched, project: str, version: str) -> Snapshot:
    from pinproof.contract.archive import SourceArchive
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
