"""The records of a history: one column a release, one caller a call, and the state of every cell."""

from __future__ import annotations

from typing import Literal

import msgspec

from pinproof.contract.model import Parameter

State = Literal["none", "declared", "required", "passed", "conditional", "guarded", "left-out", "breaks"]
"""What a parameter is in one release.

none: not declared, not passed.  declared: it has a default, and no caller names it.  required: it has none,
and is filled by position.  passed: declared, and a caller passes it by keyword.  conditional: not declared,
and passed only on a path where another function is called.  guarded: passed and not declared, but a guard
keeps the call from running.  left-out: required, and a call does not give it.  breaks: passed, not declared.
"""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """One call in the engine: where it stands, the keywords it passes, and what is wrong with it.

    `unexpected` and `left_out` are the names that do not bind; `guard` what keeps the call from running;
    `open` why it could not be decided.
    """

    file: str
    line: int
    keywords: tuple[str, ...]
    unexpected: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    other: str | None = None
    guard: str | None = None
    open: str | None = None

    @property
    def breaks(self) -> bool:
        """Whether the call fails when it runs."""
        return self.guard is None and bool(self.unexpected or self.left_out or self.other)


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One release: what its pinned library declares for the callee, and the calls the release makes.

    Attributes:
        release: the engine's release, e.g. `vllm==0.28.0`.
        without: the number of the patch taken out of it, None for the release as published.
        library: the version of the library that the signature was read from.
        source: how the signature was found (vendored copy, pin, snapshot).
        declared_at: file and line of the declaration.
        parameters: what is declared; None where there is no signature, and `missing` says why.
        read: False when the release could not be read at all.
        settled: False when the pin is an open range, whose newest release changes.
    """

    release: str
    without: str | None = None
    library: str | None = None
    source: str | None = None
    declared_at: str | None = None
    parameters: tuple[Parameter, ...] | None = None
    missing: str | None = None
    callers: tuple[Caller, ...] = ()
    read: bool = True
    settled: bool = True

    @property
    def label(self) -> str:
        """`0.28.0`, or `0.28.0 - 0001` with a patch taken out."""
        version = self.release.partition("==")[2] or self.release
        return f"{version} − {self.without}" if self.without else version  # noqa: RUF001 - a minus sign

    @property
    def broken(self) -> tuple[Caller, ...]:
        """The calls that fail when they run."""
        return tuple(caller for caller in self.callers if caller.breaks)

    @property
    def names(self) -> tuple[str, ...]:
        """The declared parameters in order, `*args` and `**kwargs` by their own names."""
        return tuple(p.name for p in self.parameters or ())


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A callee over several releases, oldest first; `rows` are all the names ever declared or passed."""

    schema: Literal["pinproof.history/1"] = "pinproof.history/1"
    callee: str
    library: str
    project: str
    rows: tuple[str, ...]
    columns: tuple[Column, ...]
