"""Where a library's signatures come from: what the user names, what the tree holds, what it pins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pinproof.contract.declared import snapshot as snapshots
from pinproof.contract.declared.library import Library
from pinproof.contract.declared.native import extensions as native
from pinproof.contract.declared.snapshot import Snapshot
from pinproof.contract.model import LibraryUsed, Unchecked
from pinproof.contract.sources import fetching
from pinproof.contract.watch.watchlist import Watched
from pinproof.errors import CannotCheck, PinproofError
from pinproof.pins import Pin, find_pin, read_pins
from pinproof.tree import Tree


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
        """The library's signatures, None when they are not available (`unchecked` says why)."""
        if watched.name not in self._found:
            try:
                self._found[watched.name] = self._find(watched)
            except PinproofError as error:
                self._found[watched.name] = None
                hint = error.hint or fetching.hint(watched)
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
        """What decides where signatures come from: pins, overrides and what they name, the watch list."""
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
        return find_pin(pins, *watched.pinned_as)

    def _find(self, watched: Watched) -> Library:
        override = self._overrides.get(watched.name)
        if override is not None:
            return self._use(watched, fetching.from_spec(watched, override), "given as --library")
        external, vendored = self._external(watched), fetching.vendored_copy(watched, self._tree)
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
                f"{self._tree.name} neither vendors nor pins {watched.name}", hint=fetching.hint(watched)
            )
        if pin.repo is not None or fetching.COMMIT.fullmatch(pin.spec):
            found = fetching.from_commit(watched, pin.spec, pin.repo, pin=pin)
        else:
            found = fetching.from_index(watched, pin)
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
        pin = self.pin(watched)
        if note is None and pin is not None and watched.name not in self._overrides:
            note = pin.note
        used = self.used[watched.name] = LibraryUsed(
            library=watched.name, version=found.version, source=source, pin=pin, note=note
        )
        return Library(found, used.label, incomplete=incomplete)

    def _external(self, watched: Watched) -> Snapshot | None:
        """An installed package beside the tree's own: only in a site-packages folder."""
        if self._tree.kind not in ("installed", "plain") or self._tree.root is None:
            return None
        name = watched.imports[0]
        if self._tree.read(f"{name}/__init__.py") is None:
            return None
        version = fetching.stated_version(self._tree, name) or "installed"
        return snapshots.take(
            self._tree.files, {i: i for i in watched.imports}, library=watched.name, version=version,
            source=f"external {name} {version} in site-packages",
        )  # fmt: skip


def _state_of(spec: str) -> object:
    """What tells whether the folder or file a SPEC names has changed."""
    path = Path(spec)
    if path.is_dir():
        read = {".py", ".pyi", ".so", *native.SUFFIXES}
        found = [p for p in sorted(path.rglob("*")) if p.suffix in read and p.is_file()]
        return [(p.as_posix(), s.st_size, s.st_mtime_ns) for p in found for s in (p.stat(),)]
    return path.stat().st_mtime_ns if path.is_file() else None


def _differ(external: Snapshot, vendored: Snapshot) -> str | None:
    same = {name: bytes(raw) for name, raw in external.modules.items()}
    other = {name: bytes(raw) for name, raw in vendored.modules.items()}
    if same.keys() == other.keys() and all(same[n] == other[n] for n in same):
        return None
    return f"{external.source} wins over the {vendored.source} ({vendored.version}), and they differ"
