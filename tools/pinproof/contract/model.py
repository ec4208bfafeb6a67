"""The records of the contract gate: signatures, calls, drifts and the report they add up to."""

from __future__ import annotations

from typing import Literal

import msgspec

from pinproof.pins import Pin

ParameterKind = Literal[
    "positional-only", "positional-or-keyword", "var-positional", "keyword-only", "var-keyword"
]
DriftKind = Literal[
    "unexpected-keyword", "missing-required", "too-many-positional", "result-count", "abstract-method",
    "missing-attribute", "missing-module",
]  # fmt: skip


class Parameter(msgspec.Struct, frozen=True, array_like=True):
    """One parameter of a signature; `default` says only that there is one."""

    name: str
    kind: ParameterKind
    default: bool = False


class Place(msgspec.Struct, frozen=True):
    """Where something is declared: `source` names the library and version it was read from."""

    source: str
    file: str
    line: int


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """What a library declares for one callable; `self` and `cls` are left out.

    `of` says what is called: a function, a class that is made, or a method of an object or class.
    """

    name: str
    parameters: tuple[Parameter, ...]
    place: Place
    of: Literal["function", "class", "method"] = "function"

    @property
    def names(self) -> tuple[str, ...]:
        """The names that can be passed by keyword, in order."""
        by_keyword = ("positional-or-keyword", "keyword-only")
        return tuple(p.name for p in self.parameters if p.kind in by_keyword)


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a call and a library disagree.

    `names` are the offending keywords, the missing parameters, the abstract methods left out, or the
    attribute or module that is not there; `nearest` the declared names that read most like them; `when`
    the condition, in the words of the source, under which the argument is passed at all (None: always);
    `twice` that a keyword is declared, but its parameter is filled by position already; `given` how many
    arguments are passed by position, where that is what is wrong.
    """

    kind: DriftKind
    names: tuple[str, ...]
    nearest: tuple[str, ...] = ()
    when: str | None = None
    twice: bool = False
    given: int | None = None


class CallCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One call (or import) of a watched library and what binding it showed.

    Attributes:
        file, line, col: where it stands; `col` counts from 1.
        callee: its full name in the library, e.g. `deep_gemm.fp8_fp4_mega_moe`.
        library: the watched library, by its name in the watch list.
        keywords: the names passed explicitly or through a dict that was followed.
        open: why it could not be decided; None when it was.
        drifts: how it fails; empty when it binds or is open.
        guard: what keeps the failing call from running, with its line; None when nothing does.
        signature: what the call was bound to.
        how: how the name at the call was followed to the library.
    """

    file: str
    line: int
    col: int
    callee: str
    library: str
    keywords: tuple[str, ...] = ()
    open: str | None = None
    drifts: tuple[Drift, ...] = ()
    guard: str | None = None
    signature: Signature | None = None
    how: str = ""

    @property
    def failing(self) -> bool:
        """Whether the call breaks when it runs: it drifts and no guard keeps it from running."""
        return bool(self.drifts) and self.guard is None


class LibraryUsed(msgspec.Struct, frozen=True, kw_only=True):
    """A watched library that the tree calls, and where its signatures came from."""

    library: str
    version: str
    source: str
    pin: Pin | None = None
    note: str | None = None

    @property
    def label(self) -> str:
        """The library with its version; of a commit the first twelve digits, of a folder its name."""
        return f"{self.library} {self.version.rstrip('/').rpartition('/')[2][:12]}"


class Unchecked(msgspec.Struct, frozen=True, kw_only=True):
    """A library whose signatures were not available, and what to do about it.

    `pinned` is False when the tree asks for no version of it: then there is nothing to check against.
    """

    library: str
    reason: str
    hint: str
    pinned: bool = True


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """A file that could not be parsed; the run went on without it."""

    file: str
    reason: str


class Report(msgspec.Struct, kw_only=True):
    """Everything one run of the contract gate found on one tree."""

    tree: str
    calls: list[CallCheck]
    libraries: list[LibraryUsed]
    unchecked: list[Unchecked]
    unread: list[Unread] = []
    files_seen: int = 0
    files_parsed: int = 0

    @property
    def failing(self) -> list[CallCheck]:
        """The calls that break when they run."""
        return [call for call in self.calls if call.failing]

    @property
    def guarded(self) -> list[CallCheck]:
        """The calls that drift behind a guard."""
        return [call for call in self.calls if call.drifts and call.guard is not None]

    @property
    def open(self) -> list[CallCheck]:
        """The calls that could not be decided."""
        return [call for call in self.calls if call.open is not None]

    @property
    def bound(self) -> list[CallCheck]:
        """The calls that were matched to a signature, whether it fits or not."""
        return [call for call in self.calls if call.open is None]
